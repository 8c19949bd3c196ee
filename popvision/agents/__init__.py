"""`popvision mcp`: reports as tools for agents, over the Model Context Protocol.

`shelf` (the reports it was given), `tool` (a tool and the arguments it takes), `tools` (all of them), `bounded`
(answers cut to size, with a cursor), `protocol` (JSON-RPC over stdin and stdout). No package is needed: a server of
tools over stdio is these few messages, and the official SDK brings a web server, cryptography and telemetry along."""
