"""docs/poptorch.md: the tables of names, options and operators, and what writes them out."""
