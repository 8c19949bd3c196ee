"""Memory: what each tile uses, of what, and at which address."""
