"""The index of a project, searching it, clicks, and learned rankers of hits."""
