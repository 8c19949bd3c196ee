"""Element-wise operators with a broadcast operand: which vertex each tile runs, and where."""
