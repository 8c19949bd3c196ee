"""The execution trace."""
