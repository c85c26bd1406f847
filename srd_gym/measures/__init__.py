"""Measures of diverse rankings in one additive form: metric, reward, oracle and search read the same numbers."""

from srd_gym.measures.base import Measure
from srd_gym.measures.bound import BoundMeasure, Term, greedy_rankings
from srd_gym.measures.catalogue import MEASURES, add_measure, parse_measure
from srd_gym.measures.evaluation import evaluate, evaluate_run, risk_against
from srd_gym.measures.ideal import IdealPool, Normalizer, default_normalizer, greedy_ideal, references
from srd_gym.measures.ir import to_ir_measures
from srd_gym.measures.label_free import LABEL_FREE, LabelFree
from srd_gym.measures.scores import Evaluation

__all__ = [
    "LABEL_FREE",
    "MEASURES",
    "BoundMeasure",
    "Evaluation",
    "IdealPool",
    "LabelFree",
    "Measure",
    "Normalizer",
    "Term",
    "add_measure",
    "default_normalizer",
    "evaluate",
    "evaluate_run",
    "greedy_ideal",
    "greedy_rankings",
    "parse_measure",
    "references",
    "risk_against",
    "to_ir_measures",
]
