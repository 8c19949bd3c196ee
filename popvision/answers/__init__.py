"""Answers as plain values for `--json` and for agents: bounded, in pages, with units in the names.

One module per question; each takes an `OpenedReport` and gives a dict that json.dumps takes. docs/cli.md documents
the keys; they are stable: new ones may come, none changes its meaning."""
