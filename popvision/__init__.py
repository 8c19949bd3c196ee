"""An open profiler for tile processors: analysis library and command line.

Nothing is imported here: tracing (`popvision.pvti`) must not pay for NumPy.
"""

__version__ = "0.1.0"
