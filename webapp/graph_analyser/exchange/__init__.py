"""The exchange page."""
