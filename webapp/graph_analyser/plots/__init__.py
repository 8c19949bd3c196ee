"""Plots that several views share: stepped curves, axes, colours, navigation."""
