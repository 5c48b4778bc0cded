"""Validation of input, labels, optional imports."""
