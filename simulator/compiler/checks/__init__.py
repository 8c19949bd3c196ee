"""Checks of a graph and its programs before and after compilation."""
