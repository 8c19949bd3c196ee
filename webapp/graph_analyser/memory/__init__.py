"""The memory page."""
