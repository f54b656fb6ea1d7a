"""Hinges, each with its own weight and margin: one vector of weights by dual ascent."""
