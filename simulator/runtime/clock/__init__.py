"""Modelled time: what every tile does in every step of a run, in device cycles."""
