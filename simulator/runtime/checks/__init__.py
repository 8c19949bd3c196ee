"""Watchers of running programs: tracing, planted errors and checks."""
