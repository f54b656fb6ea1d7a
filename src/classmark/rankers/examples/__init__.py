"""Query by examples: some documents are the query, the collection is ranked."""
