"""Ranks of one run side by side."""
