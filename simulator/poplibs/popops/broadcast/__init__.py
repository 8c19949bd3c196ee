"""Element-wise operators with a broadcast operand: the vertex of each tile, and its placement."""
