"""The summary page."""
