"""Address-accurate mode: values live only at the tile addresses that the report claims.

One block of bytes per tile is all the memory there is. Exchanges and copies move bytes of it, vertices read and write
bytes of their own tile, the host goes through the addresses too, and a variable whose life ends loses its bytes.
Results that agree with the ordinary engine's prove mapping, exchange, liveness and layout together. See
docs/address-accurate.md. Addresses, live ranges, messages and the order of programs come from the report's columns
(`claims`); what goes to which place of a buffer comes from the compiler's own arrangements (`slots`, `compute_parts`,
`sendings`).
"""
