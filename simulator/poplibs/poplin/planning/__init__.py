"""Choose how to divide a product or a convolution over tiles: candidates, their costs, the search for the cheapest."""
