"""The first page: a list of all reports and traces, and the views that they open."""
