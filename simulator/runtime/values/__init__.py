"""Values: what a program computes, over whole arrays."""
