"""Findings of a report: what costs cycles or bytes, by how much at most, where, and what could be changed."""
