"""poputil: map tensors to tiles, copy them between IPUs, split work, name template vertices."""

from simulator.building.mapping import linear_shares as linear_shares
from simulator.poplibs.host_trace import trace_calls
from simulator.poplibs.poputil import graphfn as graphfn
from simulator.poplibs.poputil.between_ipus import cloneToIpu as cloneToIpu
from simulator.poplibs.poputil.between_ipus import copyToIpu as copyToIpu
from simulator.poplibs.poputil.between_ipus import createIpuCopy as createIpuCopy
from simulator.poplibs.poputil.between_ipus import dimIsSplitOverIPUs as dimIsSplitOverIPUs
from simulator.poplibs.poputil.between_ipus import dimIsSplitOverTiles as dimIsSplitOverTiles
from simulator.poplibs.poputil.broadcasting import broadcastToMatch as broadcastToMatch
from simulator.poplibs.poputil.broadcasting import detectVectorBroadcastOperands as detectVectorBroadcastOperands
from simulator.poplibs.poputil.broadcasting import extendDimensionsToMatch as extendDimensionsToMatch
from simulator.poplibs.poputil.copies import cloneN as cloneN
from simulator.poplibs.poputil.copies import duplicate as duplicate
from simulator.poplibs.poputil.exceptions import poplibs_error as poplibs_error
from simulator.poplibs.poputil.linear_mapping import calcLinearTileMapping as calcLinearTileMapping
from simulator.poplibs.poputil.linear_mapping import clone_mapped as clone_mapped
from simulator.poplibs.poputil.linear_mapping import getTileImbalance as getTileImbalance
from simulator.poplibs.poputil.linear_mapping import hashed_tiles as hashed_tiles
from simulator.poplibs.poputil.linear_mapping import map_from_hashed_tile as map_from_hashed_tile
from simulator.poplibs.poputil.linear_mapping import map_shares as map_shares
from simulator.poplibs.poputil.linear_mapping import mapTensorLinearly as mapTensorLinearly
from simulator.poplibs.poputil.linear_mapping import mapTensorLinearlyWithOffset as mapTensorLinearlyWithOffset
from simulator.poplibs.poputil.region_splits import balancedPartition as balancedPartition
from simulator.poplibs.poputil.region_splits import checkAccuracyWhenCast as checkAccuracyWhenCast
from simulator.poplibs.poputil.region_splits import flattenIndex as flattenIndex
from simulator.poplibs.poputil.region_splits import intervalSequenceNumElements as intervalSequenceNumElements
from simulator.poplibs.poputil.region_splits import mergeAdjacentRegions as mergeAdjacentRegions
from simulator.poplibs.poputil.region_splits import splitRegions as splitRegions
from simulator.poplibs.poputil.region_splits import splitRegionsBetweenWorkers as splitRegionsBetweenWorkers
from simulator.poplibs.poputil.region_splits import unflattenIndex as unflattenIndex
from simulator.poplibs.poputil.tensor_structure import GroupingInfo as GroupingInfo
from simulator.poplibs.poputil.tensor_structure import createPartitionableTensor as createPartitionableTensor
from simulator.poplibs.poputil.tensor_structure import detectDimGroupings as detectDimGroupings
from simulator.poplibs.poputil.tensor_structure import detectInnermostGrouping as detectInnermostGrouping
from simulator.poplibs.poputil.tensor_structure import iterateTensorPartitions as iterateTensorPartitions
from simulator.poplibs.poputil.use_tracking import TensorUseTracker as TensorUseTracker
from simulator.poplibs.poputil.use_tracking import createBroadcastOperand as createBroadcastOperand
from simulator.poplibs.poputil.vertex_templates import templateVertex as templateVertex
from simulator.poplibs.poputil.vertex_templates import templateVertexParams as templateVertexParams

trace_calls("poputil", globals())
