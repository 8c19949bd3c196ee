"""Sorting, and the best elements of each row."""

from simulator.poplibs.popops.sorting.heap_sort import sort as sort
from simulator.poplibs.popops.sorting.heap_sort import sortInPlace as sortInPlace
from simulator.poplibs.popops.sorting.heap_sort import sortKeyValue as sortKeyValue
from simulator.poplibs.popops.sorting.heap_sort import sortKeyValueInPlace as sortKeyValueInPlace
from simulator.poplibs.popops.sorting.top_k import SortOrder as SortOrder
from simulator.poplibs.popops.sorting.top_k import TopKParams as TopKParams
from simulator.poplibs.popops.sorting.top_k import createTopKInput as createTopKInput
from simulator.poplibs.popops.sorting.top_k import topK as topK
from simulator.poplibs.popops.sorting.top_k import topKKeyValue as topKKeyValue
from simulator.poplibs.popops.sorting.top_k import topKWithPermutation as topKWithPermutation
