"""Programs of PopLibs' own tools beside the figures that Graphcore published of them: `benchmarks.validate --tools`."""
