"""Exchange: bytes, messages, code and cycles of transfers between tiles."""
