"""Lower and arrange: from host programs to the tree of per-tile programs."""
