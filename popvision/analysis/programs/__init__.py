"""Lowered programs: their tree, figures, calls and tiles."""
