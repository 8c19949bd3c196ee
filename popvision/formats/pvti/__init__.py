"""Host traces (.pvti): an SQLite database that a program fills while it runs and that is readable at any moment.

`schema` lists its tables, `writer` fills it without NumPy, `nesting` pairs begins with ends, `finalise` turns the
journal of a closed trace into nested slices, `reader` reads either. This module imports nothing, so that a traced
program pays for the writer alone: `from popvision.formats.pvti.reader import TraceReader`.
"""
