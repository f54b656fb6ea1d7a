"""All pairs of a query's documents with different grades, none of them listed."""
