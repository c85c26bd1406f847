"""Training: options, checkpoints, the loop, and what a learner is."""
