"""A graph as columns and values: element space, tensor views, tile mapping, vertices, programs, debug contexts."""
