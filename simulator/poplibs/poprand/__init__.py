"""poprand: random numbers and dropout."""

from simulator.poplibs.host_trace import trace_calls
from simulator.poplibs.library_calls import addCodelets as addCodelets
from simulator.poplibs.poprand.draws import bernoulli as bernoulli
from simulator.poplibs.poprand.draws import dropout as dropout
from simulator.poplibs.poprand.draws import logUniform as logUniform
from simulator.poplibs.poprand.draws import normal as normal
from simulator.poplibs.poprand.draws import shapedDropout as shapedDropout
from simulator.poplibs.poprand.draws import truncatedNormal as truncatedNormal
from simulator.poplibs.poprand.draws import uniform as uniform
from simulator.poplibs.poprand.seeding import getHwSeeds as getHwSeeds
from simulator.poplibs.poprand.seeding import setHwSeeds as setHwSeeds
from simulator.poplibs.poprand.seeding import setSeed as setSeed

trace_calls("poprand", globals())
