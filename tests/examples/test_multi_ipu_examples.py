"""The pipeline over two IPUs and the training in four replicas: their results and their reports."""

from __future__ import annotations

import os
from unittest import mock

import numpy as np
import pytest

from examples import pipeline, replicated_training
from popvision.analysis.exchange.programs import bandwidth, moved_bytes, recorded_totals
from popvision.analysis.execution.overlap import lanes
from popvision.analysis.report.source import ReportSource
from popvision.formats.profile.model import PROGRAM_TYPES

OPTIONS = '{"autoReport.all":"true","autoReport.outputSerializedGraph":"false","autoReport.directory":"%s"}'


@pytest.fixture(scope="module", name="piped")
def _piped(tmp_path_factory: pytest.TempPathFactory) -> tuple[ReportSource, float]:
    folder = tmp_path_factory.mktemp("pipeline")
    with mock.patch.dict(os.environ, {"POPLAR_ENGINE_OPTIONS": OPTIONS % folder}):
        results, expected, cycles = pipeline.run(6)
    assert results.shape == (6, pipeline.BATCH, pipeline.CLASSES)
    assert np.abs(results - expected).max() < 1e-5
    assert np.allclose(results.sum(-1), 1, atol=1e-5)
    return ReportSource(folder), cycles


def spans(source: ReportSource, ipu: int, words: str, type_: str) -> list[tuple[int, int]]:
    """[begin, end) of the steps of a type on an IPU whose program's name begins with these words."""
    reader = source.reader
    steps, figures, names = reader.steps(), reader.steps_on_ipu(ipu), reader.programs().name
    rows = [
        i
        for i in np.flatnonzero(steps.type == PROGRAM_TYPES.index(type_)).tolist()
        if names[int(steps.program[i])].startswith(words) and figures.active_tiles[i]
    ]
    return [(int(figures.active_from_min[i]), int(figures.active_to_max[i])) for i in rows]


def shared(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> int:
    """Cycles in which steps of both lists run; the spans of one list hardly overlap."""
    return sum(max(0, min(b, d) - max(a, c)) for a, b in one for c, d in other)


def test_both_ipus_compute_at_once(piped: tuple[ReportSource, float]) -> None:
    source, cycles = piped
    first, second = spans(source, 0, "stage1/", "OnTileExecute"), spans(source, 1, "stage2/", "OnTileExecute")
    assert not spans(source, 1, "stage1/", "OnTileExecute")
    assert not spans(source, 0, "stage2/", "OnTileExecute")
    trips = 6 + pipeline.DEPTH
    busy = [sum(end - begin for begin, end in each) for each in (first, second)]
    assert shared(first, second) > 0.5 * min(busy)
    # Run one after the other, the stages alone would take longer than a trip of the pipeline.
    stages = [(max(e for _, e in part[:n]) - part[0][0]) for part in (first, second) for n in [len(part) // trips]]
    assert sum(stages) > cycles


def test_no_exchange_beats_its_wires(piped: tuple[ReportSource, float]) -> None:
    """Most tiles are quicker, so check the longest tile, read from the stored arrays."""
    source, _ = piped
    m, r, rate = moved_bytes(source), recorded_totals(source), bandwidth(source)
    reader = source.reader
    ran_by = np.asarray(reader.steps().program)
    for row, program in enumerate(m.program.tolist()):
        cycles = 0
        for step in np.flatnonzero(ran_by == program).tolist():
            ids = [int(reader.steps_on_ipu(ipu).cycles_array[step]) for ipu in (0, 1)]
            cycles += max(int(np.max(values)) for values in reader.arrays([each for each in ids if each >= 0]))
        assert (r.cycles[row], rate.cycles_each[row]) == (cycles, cycles / r.executions[row])
    use = rate.achieved / rate.possible
    inside = np.array([each == "DoExchange" for each in m.type])
    assert np.isfinite(use).all()
    assert (use[~inside] <= 1).all()
    assert (use[inside] <= 2).all()  # two tiles of a bus receive the same words at once
    assert (rate.dictated[inside] <= 2).all()
    hidden = m.name.index("results")
    assert (m.type[hidden], round(float(rate.cycles_each[hidden]))) == ("StreamCopyMid", 531)


def test_input_and_output_are_hidden_in_lanes_of_their_own(piped: tuple[ReportSource, float]) -> None:
    source, _ = piped
    for ipu, stream in ((0, "batches"), (1, "results")):
        assert [lane.name for lane in lanes(source, ipu)] == ["", "I/O"]
        copies = spans(source, ipu, stream, "StreamCopyMid")
        work = [span for type_ in ("OnTileExecute", "DoExchange") for span in spans(source, ipu, "", type_)]
        assert len(copies) == 6 + pipeline.DEPTH
        assert shared(copies, work) > 0.8 * sum(end - begin for begin, end in copies)
        assert not spans(source, 1 - ipu, stream, "StreamCopyMid")


def test_batches_cross_by_global_exchange_after_an_external_sync(piped: tuple[ReportSource, float]) -> None:
    reader = piped[0].reader
    steps = reader.steps()
    rows = np.flatnonzero(steps.type == PROGRAM_TYPES.index("GlobalExchange"))
    assert len(rows) == 6 + pipeline.DEPTH
    sizes = [
        (reader.steps_on_ipu(i).data_in[rows].tolist(), reader.steps_on_ipu(i).data_out[rows].tolist())
        for i in range(2)
    ]
    bytes_ = 4 * pipeline.BATCH * pipeline.HIDDEN
    assert sizes == [([0] * len(rows), [bytes_] * len(rows)), ([bytes_] * len(rows), [0] * len(rows))]
    before = steps.program[rows - 1].tolist()
    assert {reader.programs().sync_type[p] for p in before} == {"external"}


def test_training_in_replicas_equals_training_on_the_joint_batch() -> None:
    losses, accuracies, weights = replicated_training.train(replicas=4, epochs=4, rate=0.4)
    whole, whole_accuracies, expected = replicated_training.train(replicas=1, epochs=4, rate=0.4)
    assert all(np.array_equal(weights[0], other) for other in weights[1:])
    assert np.abs(weights - expected).max() < 1e-4
    for by_replica, joint in zip(losses, whole, strict=True):
        assert by_replica.shape == (replicated_training.BATCHES, 4)
        assert np.allclose(by_replica.mean(1), joint[:, 0], atol=1e-4)
        assert len(set(by_replica[0].tolist())) == 4  # each replica has its own samples
    assert accuracies == pytest.approx(whole_accuracies, abs=0.5)
    assert accuracies == sorted(accuracies)
    assert accuracies[-1] > 90 > accuracies[0]
