"""Derivations of a report's figures, term by term."""
