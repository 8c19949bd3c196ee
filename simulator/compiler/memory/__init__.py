"""Memory: inventory, liveness, layout and their columns in the report."""
