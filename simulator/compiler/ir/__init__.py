"""Intermediate representation: the element map, transfers and lowered programs that all passes share."""
