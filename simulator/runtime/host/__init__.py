"""The host side of a run: streams, callbacks, host functions, remote buffers, printing."""
