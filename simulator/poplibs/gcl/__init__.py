"""gcl: collectives over the replicas of a graph, under the names of Graphcore's library.

Each replica contributes a tensor and receives the combination of all. With a power of two of replicas, partners swap
whole tensors and combine them: in round k replica r with replica r xor 2^k, log2(replicas) rounds in all. Both partners
combine the same two values and the operators commute, so all replicas end with the same bits. Other numbers of replicas
combine along a tree. The real library also has rings, which move 2 (r - 1) / r times the bytes in 2 (r - 1) rounds:
less for large tensors, more rounds; its rule of choice is not public. The code is in
`simulator.poplibs.popops.collectives`, because popops has older names for the same functions.
"""

from simulator.poplibs.gcl.tile_allocation import getMinIoTiles as getMinIoTiles
from simulator.poplibs.gcl.tile_allocation import perIPUTiles as perIPUTiles
from simulator.poplibs.popops.collectives.all_reduce import CollectiveOperator as CollectiveOperator
from simulator.poplibs.popops.collectives.all_reduce import CommGroup as CommGroup
from simulator.poplibs.popops.collectives.all_reduce import CommGroupType as CommGroupType
from simulator.poplibs.popops.collectives.all_reduce import allReduceCrossReplica as allReduceCrossReplica
from simulator.poplibs.popops.collectives.all_reduce import allReduceInPlaceCrossReplica as allReduceInPlaceCrossReplica
from simulator.poplibs.popops.collectives.gathering import allGatherCrossReplica as allGatherCrossReplica
from simulator.poplibs.popops.collectives.gathering import allToAllCrossReplica as allToAllCrossReplica
from simulator.poplibs.popops.collectives.gathering import broadcastCrossReplica as broadcastCrossReplica
from simulator.poplibs.popops.collectives.gathering import reduceScatterCrossReplica as reduceScatterCrossReplica
