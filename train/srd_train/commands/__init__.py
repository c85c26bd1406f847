"""One module a command; `srd_train.cli` finds them by name."""
