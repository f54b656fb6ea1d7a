"""Down the tree, one classifier after the other."""
