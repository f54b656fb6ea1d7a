"""Learning to rank: rows are (query, document) pairs, one score orders each query."""

from classmark.rankers.ltr.importance import Importance, importance
from classmark.rankers.ltr.lambdamart import LambdaMART
from classmark.rankers.ltr.listnet import ListNet
from classmark.rankers.ltr.logistic import PairwiseLogistic
from classmark.rankers.ltr.normalising import normalise_per_query
from classmark.rankers.ltr.pointwise import PointwiseSVM
from classmark.rankers.ltr.ranking_svm import RankingSVM
from classmark.rankers.ltr.selecting import Selected, select_over_queries

__all__ = [
    "Importance",
    "LambdaMART",
    "ListNet",
    "PairwiseLogistic",
    "PointwiseSVM",
    "RankingSVM",
    "Selected",
    "importance",
    "normalise_per_query",
    "select_over_queries",
]
