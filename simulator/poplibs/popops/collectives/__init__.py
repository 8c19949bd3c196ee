"""Collectives over the replicas of a graph: Graphcore's library `gcl`, and the older names that popops had for them."""
