"""The Python twins of the C++ programs that print results."""
