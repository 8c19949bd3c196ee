"""addCodelets of each library, as ported programs call it."""

import pytest

from simulator.poplar import Graph, IPUModel, poplar_error
from simulator.poplibs import poplin, popnn, popops, poprand


@pytest.mark.parametrize("library", [popops, poplin, popnn, poprand])
def test_addCodelets_takes_a_graph_and_nothing_else(library):
    graph = Graph(IPUModel().createDevice())
    assert library.addCodelets(graph) is None
    with pytest.raises(poplar_error, match="takes a graph, not 'graph'"):
        library.addCodelets("graph")
