"""How a figure of a report comes about, term by term."""
