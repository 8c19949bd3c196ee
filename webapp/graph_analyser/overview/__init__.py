"""The Overview page: time and memory in a few lines, findings, waits and the largest users of memory."""
