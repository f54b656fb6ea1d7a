"""How good is this order?"""

from classmark.measures.agreement import (
    cohen_kappa,
    jaccard_distance,
    kappa_of,
    krippendorff_alpha,
    masi_distance,
)
from classmark.measures.categories import (
    CategoryTally,
    category_ranking,
    category_ranking_per_document,
    precision_at_rank,
    ranking_error,
    recall_at_rank,
)
from classmark.measures.classification import (
    accuracy_bound,
    calibration_error,
    classification,
    contingency,
    hierarchical_f,
    reliability,
    tree_induced_error,
)
from classmark.measures.retrieval import (
    MEASURES,
    Measure,
    parse,
    retrieval,
    retrieval_per_query,
)
from classmark.measures.significance import (
    bootstrap_interval,
    macro_t_test,
    micro_sign_test,
    paired_t_test,
    randomisation_test,
    sign_test,
)
from classmark.measures.stopping import documents_read, recall_curve, work_saved

__all__ = [
    "MEASURES",
    "CategoryTally",
    "Measure",
    "accuracy_bound",
    "bootstrap_interval",
    "calibration_error",
    "category_ranking",
    "category_ranking_per_document",
    "classification",
    "cohen_kappa",
    "contingency",
    "documents_read",
    "hierarchical_f",
    "jaccard_distance",
    "kappa_of",
    "krippendorff_alpha",
    "macro_t_test",
    "masi_distance",
    "micro_sign_test",
    "paired_t_test",
    "parse",
    "precision_at_rank",
    "randomisation_test",
    "ranking_error",
    "recall_at_rank",
    "recall_curve",
    "reliability",
    "retrieval",
    "retrieval_per_query",
    "sign_test",
    "tree_induced_error",
    "work_saved",
]
