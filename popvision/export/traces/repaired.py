"""What could be read of a trace as a sound one: Chrome trace events, or a .pvti, by the suffix of the target."""

from __future__ import annotations

import gzip
import io
import tempfile
from pathlib import Path

from popvision.analysis.trace.source import TraceSource
from popvision.export.traces.chrome import write_chrome
from popvision.export.writing import write_file
from popvision.formats.errors import FormatError
from popvision.formats.foreign_traces.importing import import_recording
from popvision.formats.foreign_traces.recognition import is_foreign_trace
from popvision.formats.replacing import replacing

_SUFFIXES = (".json", ".json.gz", ".pvti")


def write_repaired(path: Path, target: Path, unit: str = "us") -> None:
    """Write a sound trace of what can be read of `path`; times of Chrome trace events count `unit`s.

    Raises FormatError for another suffix, for a target that is the trace itself, and where nothing can be read."""
    if not target.name.endswith(_SUFFIXES):
        raise FormatError(f"{target} must end in {', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}.")
    if target.exists() and target.samefile(path):
        raise FormatError(f"{target} is the trace itself; give another --output.")
    if not is_foreign_trace(path) and target.suffix == ".pvti":
        raise FormatError(f"{path} is a .pvti already; its repair is written as .json or .json.gz.")
    with tempfile.TemporaryDirectory(prefix="popvision-repair-") as folder:
        readable = path
        if is_foreign_trace(path):
            readable = Path(folder, "trace.pvti")
            import_recording(path, readable, unit, keeps_losses=False)
        if target.suffix == ".pvti":
            with replacing(target) as place:
                place.write_bytes(readable.read_bytes())
            return
        source = TraceSource(readable)
        if target.suffix != ".gz":
            write_file(target, lambda stream: write_chrome(source, f"repaired from {path}", stream))
            return
        with replacing(target) as place, gzip.open(place, "wb") as packed, io.TextIOWrapper(packed, "utf-8") as stream:
            write_chrome(source, f"repaired from {path}", stream)
