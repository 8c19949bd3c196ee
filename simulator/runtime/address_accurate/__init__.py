"""Address-accurate mode: values live only at the tile addresses that the report claims.

The only memory is one block of bytes per tile. Exchanges and copies move its bytes, vertices access bytes of their own
tile, the host goes through the same addresses, and a variable loses its bytes when its live range ends. Results equal
to the ordinary engine's prove mapping, exchange, liveness and layout together. See docs/address-accurate.md. Addresses,
live ranges, messages and program order come from the report's columns (`claims`); the contents of buffers come from the
compiler's arrangements (`slots`, `compute_parts`, `moves`).
"""
