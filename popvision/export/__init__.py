"""Tables of a report as CSV and JSON."""
