"""«Which number has this word?»: many words at once."""
