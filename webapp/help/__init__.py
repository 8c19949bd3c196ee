"""Help: the documents of docs/ within the viewer, as a pane beside any page and as pages of their own."""
