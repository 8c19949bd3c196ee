"""What stands before the viewer: limits of connections, shapes of requests."""
