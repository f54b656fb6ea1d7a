"""«Must the longest list be read?»: not if it cannot lift what it alone holds."""
