"""The laws of reports on two IPUs with I/O tiles, and on four replicas."""

from __future__ import annotations

import json
import os
from pathlib import Path
from unittest import mock

import pytest

from examples import pipeline, replicated_training
from tests.integration import file_laws, memory_laws, time_laws
from tests.integration.plain_report import PlainReport


@pytest.mark.parametrize("example", ["pipeline", "replicated_training"])
def test_reports_of_several_ipus(example: str, tmp_path: Path) -> None:
    options = {"autoReport.all": "true", "autoReport.directory": str(tmp_path), "debug.instrument": "true"}
    with mock.patch.dict(os.environ, {"POPLAR_ENGINE_OPTIONS": json.dumps(options)}):
        if example == "pipeline":
            pipeline.run(2)
        else:
            replicated_training.train(replicas=4, epochs=1, rate=0.1)
    report = PlainReport(tmp_path)
    assert (report.target["num_ipus"], report.target["num_replicas"]) == {"pipeline": (2, 1)}.get(example, (4, 4))
    assert time_laws.check_time(report) > 100
    time_laws.check_order(report)
    time_laws.check_estimates(report)
    memory_laws.check_totals(report)
    memory_laws.check_rows_of_variables(report)
    memory_laws.check_addresses(report)
    memory_laws.check_liveness(report)
    memory_laws.check_code(report)
    file_laws.check_debug_ids(report)
    file_laws.check_archive(report)
    report.close()
