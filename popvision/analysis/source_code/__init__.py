"""Cost of each line of the user's source."""
