"""Summaries of a report: headline figures, facts, and the text of printProfileSummary."""
