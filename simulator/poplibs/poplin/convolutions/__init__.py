"""poplin.convolution and the functions around it, under PopLibs' names."""
