"""Element-wise operators: expressions of popops, fixed values and casts."""
