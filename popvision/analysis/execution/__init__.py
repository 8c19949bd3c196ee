"""Execution: what ran when, on the device clock."""
