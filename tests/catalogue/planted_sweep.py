"""A sweep without running one: sample reports with the point.json of points of a grid."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from popvision.package_data import package_folder

#: Memory per tile and chip -> the sample that stands for the point; one chip has no report at the middle value.
POINTS = {
    (131072, "ipu1"): "out_of_memory",
    (131072, "ipu2"): "out_of_memory",
    (262144, "ipu1"): "matmul_chain",
    (638976, "ipu1"): "matmul_chain_hardware",
    (638976, "ipu2"): "matmul_chain",
}


def plant_sweep(root: Path) -> Path:
    """The folder of the sweep; its points are named such as "points/ipu1-262144"."""
    for at, ((memory, target), sample) in enumerate(POINTS.items()):
        folder = root / "points" / f"{target}-{memory}"
        shutil.copytree(package_folder("sample_reports") / sample, folder)
        axes = {"target": target, "constants.memoryBytesPerTile": memory}
        point = {"axes": axes, "program": "/somewhere/chain.py", "digest": f"{at:016x}", "commit_time": 0, "error": ""}
        (folder / "point.json").write_text(json.dumps(point))
    return root
