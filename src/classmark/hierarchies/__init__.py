"""Use the tree."""
