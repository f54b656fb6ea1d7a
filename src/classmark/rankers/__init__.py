"""Fit, then order these items."""
