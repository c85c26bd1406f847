"""Training: options, checkpoints, the loop, and what a learner is; torch in `torch_learner` and `checkpoint` alone."""

from srd_agents.training.card import write_card
from srd_agents.training.learner import Learner, LearnerConfig
from srd_agents.training.progress import History, OnProgress, Progress, by_tag
from srd_agents.training.validation import Validation

__all__ = ["History", "Learner", "LearnerConfig", "OnProgress", "Progress", "Validation", "by_tag", "write_card"]
