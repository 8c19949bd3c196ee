"""Engine options: a table per group (compile, run, report), from which settings and docs/options.md are made."""
