"""Small collections for the tests of an index."""

from hypothesis import strategies as st

WORDS = [
    "bee", "bees", "hive", "hives", "the", "wasp", "honey", "été", "東京", "x1",
    "internationalisation", "internationalisations", "of", "B", "queen",
]  # fmt: skip

texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
ids = st.sampled_from([f"d{number}" for number in range(12)])
plain = st.lists(st.tuples(ids, texts), unique_by=lambda pair: pair[0], max_size=12)
fielded = st.lists(
    st.fixed_dictionaries({"id": ids}, optional={"title": texts, "body": texts}),
    unique_by=lambda document: document["id"],
    max_size=12,
)
