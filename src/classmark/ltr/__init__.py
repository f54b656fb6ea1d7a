"""Learning to rank: rows are (query, document) pairs, one score orders each query."""

from __future__ import annotations

from classmark.ltr.judged import normalise_per_query as normalise_per_query
from classmark.ltr.listwise import LambdaMART as LambdaMART
from classmark.ltr.listwise import ListNet as ListNet
from classmark.ltr.listwise import PairwiseLogistic as PairwiseLogistic
from classmark.ltr.selection import Importance as Importance
from classmark.ltr.selection import SelectedParams as SelectedParams
from classmark.ltr.selection import importance as importance
from classmark.ltr.selection import select_over_queries as select_over_queries
from classmark.ltr.svm import PointwiseSVM as PointwiseSVM
from classmark.ltr.svm import RankingSVM as RankingSVM
