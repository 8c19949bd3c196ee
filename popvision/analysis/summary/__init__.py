"""Summaries of a whole report: headline figures, facts, and the text of printProfileSummary."""
