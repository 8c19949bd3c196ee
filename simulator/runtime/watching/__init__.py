"""Watchers: work around the running of programs, for tracing, planted errors and checks."""
