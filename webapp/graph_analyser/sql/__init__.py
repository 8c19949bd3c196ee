"""The SQL page of a report."""
