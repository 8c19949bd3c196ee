"""popops::embedding."""

from simulator.poplibs.popops.slices.plan import plan as plan
