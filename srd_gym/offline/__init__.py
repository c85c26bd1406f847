"""Learning and judging from logs: the policy that logs, what it logged, and estimates of other policies' values."""

from srd_gym.offline.estimators import ESTIMATORS, Estimate, evaluate_offline
from srd_gym.offline.log import Log, logged_parts, read_log, write_log
from srd_gym.offline.policy import EpsilonPolicy

__all__ = [
    "ESTIMATORS",
    "EpsilonPolicy",
    "Estimate",
    "Log",
    "evaluate_offline",
    "logged_parts",
    "read_log",
    "write_log",
]
