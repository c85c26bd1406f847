"""Experiments with srd_gym: the command `srd`, training runs and the benchmark."""
