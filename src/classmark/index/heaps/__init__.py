"""«Which k so far?»: a heap whose top is the first to go."""
