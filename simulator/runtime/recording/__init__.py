"""Recording: what ran, and the files of a report folder."""
