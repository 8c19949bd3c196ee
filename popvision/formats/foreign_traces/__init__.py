"""Host traces that other tools wrote, read into our own format."""
