"""The source page."""
