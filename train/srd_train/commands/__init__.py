"""One module a command, with the console, which options and results go through; `srd_train.cli` finds them by name."""
