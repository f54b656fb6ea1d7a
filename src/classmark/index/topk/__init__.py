"""«Which are the best k?»: accumulators, pruned windows, one exact answer."""
