"""The problem's nouns: a topic (one query with its candidates) and a topic set."""

from srd_gym.topic.topic import TOPIC_FIELDS, FloatArray, GradeArray, Topic, one_topic
from srd_gym.topic.topic_set import Fold, TopicSet, as_topic_set

__all__ = [
    "TOPIC_FIELDS",
    "FloatArray",
    "Fold",
    "GradeArray",
    "Topic",
    "TopicSet",
    "as_topic_set",
    "one_topic",
]
