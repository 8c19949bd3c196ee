"""The host timeline."""
