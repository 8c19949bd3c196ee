"""Front ends: programs written for other frameworks, captured, lowered to a Poplar graph and run."""
