"""Operators that choose, move or join elements: views, slices, padding, indices, sorting, resizing."""
