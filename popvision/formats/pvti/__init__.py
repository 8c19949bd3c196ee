"""Host traces (.pvti): an SQLite database that a program fills while it runs and that is readable at any moment.

`schema` says what is in it, `writer` fills it without NumPy, `nesting` pairs begins with ends, `finalise` turns the
journal of a closed trace into nested slices, `reader` answers from either. Nothing is imported here, so that a traced
program pays for the writer alone: `from popvision.formats.pvti.reader import TraceReader`.
"""
