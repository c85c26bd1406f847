"""One module a command, with options, output and progress beside them; `srd_train.cli` finds them by name."""
