"""Engine: compile a graph, load it onto a device, run it, save it."""
