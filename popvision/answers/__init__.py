"""Answers as plain values for `--json` and for agents, in pages, with units in the names.

One module per question; each turns an `OpenedReport` into a dict for json.dumps. docs/cli.md documents the keys. They
are stable: new keys may be added, none changes its meaning."""
