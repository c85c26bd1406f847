"""One module a command, beside its options, their help and the console; `srd_train.cli` finds commands by name."""
