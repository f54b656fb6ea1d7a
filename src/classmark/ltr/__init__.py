"""Learning to rank: rows are (query, document) pairs, one score orders each query."""

from __future__ import annotations

from classmark.ltr.judged import Importance as Importance
from classmark.ltr.judged import SelectedParams as SelectedParams
from classmark.ltr.judged import importance as importance
from classmark.ltr.judged import normalise_per_query as normalise_per_query
from classmark.ltr.judged import select_over_queries as select_over_queries
from classmark.ltr.learners import SVMMAP as SVMMAP
from classmark.ltr.learners import LambdaMART as LambdaMART
from classmark.ltr.learners import ListNet as ListNet
from classmark.ltr.learners import PairwiseLogistic as PairwiseLogistic
from classmark.ltr.learners import PointwiseSVM as PointwiseSVM
from classmark.ltr.learners import RankingSVM as RankingSVM
from classmark.ltr.nonlinear import RankBoost as RankBoost
from classmark.ltr.nonlinear import RankNet as RankNet
from classmark.ltr.saved import LetorRanker as LetorRanker
