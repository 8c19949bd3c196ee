"""Engine options: one table per group; docs/options.md is written from them."""
