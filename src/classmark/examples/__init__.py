"""Query by examples and screening: some documents are the query."""
