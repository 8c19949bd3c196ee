"""Triangular solves and Cholesky decompositions, as PopLibs builds them: products of blocks, vertices for a block."""
