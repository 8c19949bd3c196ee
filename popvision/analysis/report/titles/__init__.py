"""The catalogue of figures: title, help, formula and export name of each column, a module a subject."""
