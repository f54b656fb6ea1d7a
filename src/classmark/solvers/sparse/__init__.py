"""Weights kept only where they are not zero: for very many labels."""
