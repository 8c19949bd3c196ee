"""Benchmarks of host traces while they are written."""
