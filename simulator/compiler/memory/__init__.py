"""Memory: inventory, liveness, layout and what the report says of them."""
