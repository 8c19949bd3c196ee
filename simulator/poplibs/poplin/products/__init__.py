"""poplin.matMul and the functions around it, under PopLibs' names."""
