"""The commands `srd data ...`."""
