"""Values: compute the results of programs over whole arrays."""
