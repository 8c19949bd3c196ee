"""What every page imports: the library of opened files, addresses, selections, formats, themes."""
