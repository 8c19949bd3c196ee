"""The page of many reports: a table and a scatter of the catalogue of a folder."""
