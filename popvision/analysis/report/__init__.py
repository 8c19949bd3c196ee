"""An opened report: its source, target, tiles, and what it does not hold."""
