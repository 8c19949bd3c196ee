"""Estimate the cycles of compute sets."""
