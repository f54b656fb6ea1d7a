"""The exact step on one group of preferences of one document."""
