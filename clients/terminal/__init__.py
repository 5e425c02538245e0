"""Patience in a terminal, line by line."""
