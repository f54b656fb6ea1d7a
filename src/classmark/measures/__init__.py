"""How good is this order?"""

from classmark.measures.categories import CategoryTally as CategoryTally
from classmark.measures.categories import PrecisionRecall as PrecisionRecall
from classmark.measures.categories import RelevantRanks as RelevantRanks
from classmark.measures.categories import category_ranking as category_ranking
from classmark.measures.categories import (
    category_ranking_per_document as category_ranking_per_document,
)
from classmark.measures.categories import precision_at_rank as precision_at_rank
from classmark.measures.categories import precision_recall as precision_recall
from classmark.measures.categories import rank_relevant as rank_relevant
from classmark.measures.categories import ranking_error as ranking_error
from classmark.measures.categories import recall_at_rank as recall_at_rank
from classmark.measures.classification import Contingency as Contingency
from classmark.measures.classification import Reliability as Reliability
from classmark.measures.classification import accuracy_bound as accuracy_bound
from classmark.measures.classification import calibration_error as calibration_error
from classmark.measures.classification import classification as classification
from classmark.measures.classification import contingency as contingency
from classmark.measures.classification import hierarchical_f as hierarchical_f
from classmark.measures.classification import reliability as reliability
from classmark.measures.classification import tree_induced_error as tree_induced_error
from classmark.measures.retrieval import MEASURES as MEASURES
from classmark.measures.retrieval import Declaration as Declaration
from classmark.measures.retrieval import JudgedRun as JudgedRun
from classmark.measures.retrieval import Measure as Measure
from classmark.measures.retrieval import RankedPairs as RankedPairs
from classmark.measures.retrieval import RelevantPlaces as RelevantPlaces
from classmark.measures.retrieval import judge as judge
from classmark.measures.retrieval import parse as parse
from classmark.measures.retrieval import preference_pairs as preference_pairs
from classmark.measures.retrieval import retrieval as retrieval
from classmark.measures.retrieval import retrieval_per_query as retrieval_per_query
from classmark.measures.significance import Outcome as Outcome
from classmark.measures.significance import bootstrap_interval as bootstrap_interval
from classmark.measures.significance import cohen_kappa as cohen_kappa
from classmark.measures.significance import jaccard_distance as jaccard_distance
from classmark.measures.significance import kappa_of as kappa_of
from classmark.measures.significance import krippendorff_alpha as krippendorff_alpha
from classmark.measures.significance import macro_t_test as macro_t_test
from classmark.measures.significance import masi_distance as masi_distance
from classmark.measures.significance import micro_sign_test as micro_sign_test
from classmark.measures.significance import paired_t_test as paired_t_test
from classmark.measures.significance import randomisation_test as randomisation_test
from classmark.measures.significance import sign_test as sign_test
from classmark.measures.stopping import documents_read as documents_read
from classmark.measures.stopping import recall_curve as recall_curve
from classmark.measures.stopping import work_saved as work_saved
