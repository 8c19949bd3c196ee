"""The liveness page."""
