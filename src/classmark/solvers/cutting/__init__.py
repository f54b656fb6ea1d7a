"""One slack for a whole table: cutting planes, and the oracles that find them."""
