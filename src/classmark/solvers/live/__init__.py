"""Duals of documents that come one by one, are visited again, and may be forgotten."""
