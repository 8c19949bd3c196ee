"""Host traces in the formats of other viewers."""
