"""Here is a string, give me terms."""
