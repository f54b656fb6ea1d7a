"""Counts by document become lists by term."""
