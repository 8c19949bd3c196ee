"""Host traces: lanes, merged drawing, calls, search, statistics."""
