"""«Which documents answer this query?»: inverted files, models and exact top-k."""
