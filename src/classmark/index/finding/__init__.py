"""«One query, one call»: terms in, the best items out."""
