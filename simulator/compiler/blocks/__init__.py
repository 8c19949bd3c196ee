"""Lightweight profiling: the programs it records, and the cost of recording."""
