"""«Which items point the same way?»: dot products by lists."""
