"""Modelled time: the cycles of every tile in every step of a run."""
