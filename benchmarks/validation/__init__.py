"""Published figures beside ours: one module per published program, each with `rows()`;
`benchmarks.validate` runs all."""
