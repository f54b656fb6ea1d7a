"""One document at a time: rank it, then learn from it."""
