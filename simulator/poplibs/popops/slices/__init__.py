"""Slices at offsets that are known only when a program runs."""

from simulator.poplibs.popops.slices import embedding as embedding
from simulator.poplibs.popops.slices.create import createIndicesTensor as createIndicesTensor
from simulator.poplibs.popops.slices.create import createSliceableTensor as createSliceableTensor
from simulator.poplibs.popops.slices.create import createSliceableTensorFromSlice as createSliceableTensorFromSlice
from simulator.poplibs.popops.slices.create import createSliceTensor as createSliceTensor
from simulator.poplibs.popops.slices.dynamic import dynamicSlice as dynamicSlice
from simulator.poplibs.popops.slices.dynamic import dynamicSliceWithOutput as dynamicSliceWithOutput
from simulator.poplibs.popops.slices.dynamic import dynamicUpdate as dynamicUpdate
from simulator.poplibs.popops.slices.embedding import SlicePlan as SlicePlan
from simulator.poplibs.popops.slices.gather import GatherParams as GatherParams
from simulator.poplibs.popops.slices.gather import createGatherInput as createGatherInput
from simulator.poplibs.popops.slices.gather import gather as gather
from simulator.poplibs.popops.slices.multi_slice import multiSlice as multiSlice
from simulator.poplibs.popops.slices.multi_update import multiUpdate as multiUpdate
from simulator.poplibs.popops.slices.multi_update import multiUpdateAdd as multiUpdateAdd
from simulator.poplibs.popops.slices.multi_update import multiUpdateMax as multiUpdateMax
from simulator.poplibs.popops.slices.scatter import scatter as scatter
from simulator.poplibs.popops.slices.sliced_view import getSliceMapping as getSliceMapping
