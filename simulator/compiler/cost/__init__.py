"""Estimate: cycles of compute sets."""
