"""Lower host programs to the tree of per-tile programs, and arrange the data that they move."""
