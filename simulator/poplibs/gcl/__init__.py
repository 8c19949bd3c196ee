"""gcl: collectives over the replicas of a graph, under the names of Graphcore's library.

Every replica gives a tensor and gets the combination of all of them. Partners swap whole tensors and combine them: in
round k replica r with replica r xor 2^k, log2(replicas) rounds in all. Both partners combine the same two values, and
the operators do not mind the order, so all replicas end with the same bits. The real library also has rings, which move
2 (r - 1) / r times the bytes in 2 (r - 1) rounds: less for large tensors, more rounds; which of them it chooses is not
public. Other numbers of replicas go along a tree and back. Gathering, scattering and all to all: `gathering`.
"""

from simulator.poplibs.popops.collectives.all_reduce import CollectiveOperator as CollectiveOperator
from simulator.poplibs.popops.collectives.all_reduce import allReduceCrossReplica as allReduceCrossReplica
from simulator.poplibs.popops.collectives.all_reduce import allReduceInPlaceCrossReplica as allReduceInPlaceCrossReplica
from simulator.poplibs.popops.collectives.gathering import allGatherCrossReplica as allGatherCrossReplica
from simulator.poplibs.popops.collectives.gathering import allToAllCrossReplica as allToAllCrossReplica
from simulator.poplibs.popops.collectives.gathering import broadcastCrossReplica as broadcastCrossReplica
from simulator.poplibs.popops.collectives.gathering import reduceScatterCrossReplica as reduceScatterCrossReplica
