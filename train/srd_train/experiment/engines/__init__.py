"""Where the cells of a benchmark run: on this machine, or on a Ray cluster."""
