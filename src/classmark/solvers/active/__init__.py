"""The step on one group of preferences over very many labels, most of them idle."""
