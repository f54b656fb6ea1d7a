"""The calls: what the pages do, for programs."""
