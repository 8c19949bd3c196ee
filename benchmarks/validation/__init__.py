"""Published figures beside ours: one module per published programme, each with `rows()`; `benchmarks.validate` runs
them all."""
