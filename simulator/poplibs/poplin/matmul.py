"""poplin::matmul: the name of older programs for the cache of plans."""

from simulator.poplibs.poplin.planning.cache import PlanningCache as PlanningCache
