"""«Which terms has this document?»: a few documents read out of the inverted lists."""
