"""Reductions, scans and statistics over dimensions."""
