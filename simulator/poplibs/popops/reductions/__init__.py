"""popops.reduce: its parameters, its stages and their vertices."""
