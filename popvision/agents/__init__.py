"""`popvision mcp`: reports as tools for agents, over the Model Context Protocol.

`catalogue` (the reports on offer), `tool` (a tool and its arguments), `tools` (all tools), `bounded` (answers of
limited size, with a cursor), `protocol` (JSON-RPC over stdin and stdout). A server of tools over stdio needs only these
few messages; the official SDK would add a web server, cryptography and telemetry."""
