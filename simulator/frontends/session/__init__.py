"""A session: what every front end needs of a machine, whatever framework its programs were written in."""
