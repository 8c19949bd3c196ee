"""createVariableMetadataTensor with a scale that the program computes."""

import numpy as np
import pytest

from simulator.codelets.vertex import Input, Output, Vector, Vertex
from simulator.poplar import (
    FLOAT,
    INT,
    QUARTER,
    Engine,
    Graph,
    IPUModel,
    QuarterMetadata,
    application_runtime_error,
    convertFromDeviceType,
    createVariableMetadataTensor,
    tensor_metadata_error,
    type_error,
)
from simulator.poplar.program import Execute, Sequence

F143, F152 = QuarterMetadata.Format.F143, QuarterMetadata.Format.F152


class ToQuarter(Vertex):
    x = Input(Vector(FLOAT))
    y = Output(Vector(QUARTER))

    def compute(self) -> None:
        self.y[:] = self.x


def model():
    made = IPUModel("ipu2")
    made.tilesPerIPU = 4
    return made.createDevice()


@pytest.mark.parametrize("options", [{}, {"popvision.addressAccurate": "true"}])
@pytest.mark.parametrize(("fmt", "scales"), [(F143, (0, 3, -32)), (F152, (31, -1))])
def test_a_scale_that_changes_from_run_to_run(fmt, scales, options) -> None:
    device, values = model(), np.array([1, -2, 3, 0.5], np.float32)
    graph = Graph(device)
    graph.addCodelets(ToQuarter)
    prog = Sequence()
    scale, x = graph.addVariable(INT, [], "scale"), graph.addVariable(FLOAT, [4], "x")
    graph.setTileMapping(scale, 3)
    graph.setTileMapping(x, 1)
    metadata = createVariableMetadataTensor(graph, fmt, scale, prog, "computed")
    assert graph.getTileMapping(metadata)[3] == [(0, 1)]
    y = graph.addVariable(QUARTER, metadata, [4], "y")
    graph.setTileMapping(y, 2)
    cs = graph.addComputeSet("convert")
    graph.setTileMapping(graph.addVertex(cs, "ToQuarter", {"x": x, "y": y}), 2)
    prog.add(Execute(cs))
    graph.createHostWrite("scale", scale)
    graph.createHostWrite("x", x)
    graph.createHostRead("y", y)
    with Engine(graph, prog, options) as engine:
        engine.load(device)
        for number in scales:
            engine.writeTensor("scale", np.array(number, np.int32))
            engine.writeTensor("x", values * 2.0**number)
            engine.run(0)
            got, read = np.zeros(4, np.uint8), QuarterMetadata()
            engine.readTensor("y", read, got)
            assert (read.getFormat(), read.getScale()) == (fmt, number)
            assert convertFromDeviceType(QUARTER, read, got).tolist() == (values * 2.0**number).tolist()
        engine.writeTensor("scale", np.array(32, np.int32))
        with pytest.raises(application_runtime_error, match=r"scale of QUARTER metadata is -32 to 31, .* computed 32"):
            engine.run(0)


def test_scales_that_are_none() -> None:
    graph = Graph(model())
    with pytest.raises(tensor_metadata_error, match=r"Tensor\(float, shape=\[\]\) holds no scale; give an INT scalar"):
        createVariableMetadataTensor(graph, F143, graph.addVariable(FLOAT, []), Sequence())
    scale = graph.addVariable(INT, [])
    graph.setTileMapping(scale, 1)
    with pytest.raises(type_error, match=r"missing a required argument: 'prog'; it takes \(graph, fmt, scale, prog"):
        createVariableMetadataTensor(graph, F143, scale)
    with pytest.raises(tensor_metadata_error, match="is -32 to 31, not 32"):
        createVariableMetadataTensor(graph, F143, 32)
