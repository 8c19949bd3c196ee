"""Liveness: what is live at each index of the static order."""
