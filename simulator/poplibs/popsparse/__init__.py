"""popsparse: sparse matrices and their products, under the names of PopLibs.

What is there: the formats of matrices, and `static_`, products whose sparse operand has a pattern known at compile
time.
"""

from simulator.poplibs.host_trace import trace_calls
from simulator.poplibs.library_calls import addCodelets as addCodelets
from simulator.poplibs.popsparse import static_ as static_
from simulator.poplibs.popsparse.storage import COOMatrix as COOMatrix
from simulator.poplibs.popsparse.storage import CSCMatrix as CSCMatrix
from simulator.poplibs.popsparse.storage import CSRMatrix as CSRMatrix

trace_calls("popsparse", globals())
