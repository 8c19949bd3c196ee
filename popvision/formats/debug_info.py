"""debug.json and debug.cbor: the line of the user's program and the software layer that made each object.

Both files hold the same document:

    {"format": "popvision.debug", "formatVersion": "1.1.0", "runId": "...", "crc32": 123, "contexts": [
      {"id": 7, "parents": [3], "layer": "poplibs", "name": "matMul", "arguments": {...}, "outputs": {...},
       "file": "train.py", "line": 12}, ...],
     "sourcesCrc32": 456, "sources": [{"file": "train.py", "text": "import ...", "absent": ""}, ...]}

Each crc32 runs over its list as compact JSON in UTF-8 with sorted keys, in either file. `sources` (since 1.1) holds the
user's files that contexts name, each once; it is left out where the texts are not to be passed on.
"""

from __future__ import annotations

import gc
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cbor2
import orjson

from popvision.formats.errors import FormatError
from popvision.formats.newer import refuse_newer
from popvision.formats.replacing import replacing

FORMAT = "popvision.debug"
FORMAT_VERSION = (1, 1, 0)

JSON_NAME, CBOR_NAME = "debug.json", "debug.cbor"

#: Larger files are refused: they would not fit into memory when decoded.
MAX_BYTES = 4 << 30

#: Bytes of UTF-8 at most of the text of one source file, and of all of them together.
MOST_SOURCE_BYTES, MOST_SOURCES_BYTES = 1 << 20, 8 << 20

#: Files that a report may name.
MOST_SOURCES = 100_000


@dataclass(frozen=True)
class SourceText:
    """One of the user's source files. `absent` says why it has no text: "it is larger than 1 MiB"."""

    file: str
    text: str = ""
    absent: str = ""


@dataclass(frozen=True)
class DebugInfo:
    """One debug context. `arguments` and `outputs` are JSON values by name; line 0 = not known."""

    id: int
    parents: tuple[int, ...] = ()
    layer: str = ""
    name: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    file: str = ""
    line: int = 0

    def record(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "parents": list(self.parents),
            "layer": self.layer,
            "name": self.name,
            "arguments": self.arguments,
            "outputs": self.outputs,
            "file": self.file,
            "line": self.line,
        }


class DebugContexts:
    """The contexts of one file, by id. `sources` are the user's source files by name, None where the report was written
    without them."""

    def __init__(
        self,
        records: Sequence[dict[str, Any]] = (),
        run_id: str = "",
        sources: Sequence[SourceText] | None = None,
    ) -> None:
        self.run_id = run_id
        self.sources = None if sources is None else {source.file: source for source in sources}
        self._records = {int(record["id"]): record for record in records}

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, id: int) -> bool:
        return id in self._records

    def __iter__(self) -> Iterator[int]:
        return iter(self._records)

    def record(self, id: int) -> dict[str, Any]:
        """The context with this id as a dict with the keys of the file; {} when there is none."""
        return self._records.get(id, {})

    def records(self) -> Iterable[tuple[int, dict[str, Any]]]:
        """(id, record) of every context, in the order of the file."""
        return self._records.items()

    def parents(self) -> Iterator[tuple[int, list[int]]]:
        """(id, ids of its parents) of every context."""
        return ((id, list(record["parents"])) for id, record in self._records.items())


def write_debug_info(
    folder: str | Path,
    contexts: Iterable[DebugInfo],
    run_id: str,
    names: Sequence[str] = (JSON_NAME, CBOR_NAME),
    sources: Sequence[SourceText] | None = None,
) -> None:
    """Writes debug.json and debug.cbor (or those of `names`) into `folder`, each complete or not at all; with the texts
    of `sources`, if they are given.

    Raises FormatError when an argument is no JSON value or the folder cannot be written."""
    try:
        records = [context.record() for context in contexts]
        document = {
            "format": FORMAT,
            "formatVersion": ".".join(map(str, FORMAT_VERSION)),
            "runId": run_id,
            "runIdCrc32": _crc(run_id),
            "crc32": _crc(records),
            "contexts": records,
        }
        if sources is not None:
            texts = [{"file": source.file, "text": source.text, "absent": source.absent} for source in sources]
            document |= {"sourcesCrc32": _crc(texts), "sources": texts}
        for name in names:
            data = orjson.dumps(document) if name == JSON_NAME else cbor2.dumps(document)
            with replacing(Path(folder) / name) as temporary:
                temporary.write_bytes(data)
    except (TypeError, ValueError, RecursionError) as error:
        raise FormatError(f"cannot write debug information to {folder}: {error}; arguments must be JSON.") from None
    except OSError as error:
        raise FormatError(f"cannot write debug information to {folder}: {error.strerror or error}.") from error


def read_debug_info(path: str | Path) -> DebugContexts:
    """Reads debug.json, or debug.cbor by its suffix. Raises FormatError."""
    path = Path(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise FormatError(f"{path} is larger than 4 GiB; write it again with less debug information.")
        data = path.read_bytes()
        with _no_garbage_collection():  # a million small dicts: five times as fast
            document = cbor2.loads(data) if path.suffix == ".cbor" else orjson.loads(data)
            return _checked(document, path)
    except OSError as error:
        raise FormatError(f"cannot open {path}: {error.strerror or error}.") from error
    except FormatError:
        raise
    except Exception as error:  # decoders of hostile bytes raise many types
        raise FormatError(f"{path} is damaged or no debug information: {error}.") from None


def _checked(document: Any, path: Path) -> DebugContexts:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FormatError(f"{path} is not debug information that this popvision knows.")
    refuse_newer(path, str(document.get("formatVersion", "")), FORMAT_VERSION[0])
    records = document["contexts"]
    run_id = str(document.get("runId", ""))
    is_other_run = document.get("runIdCrc32", _crc(run_id)) != _crc(run_id)  # files of before have none
    if is_other_run or _crc(records) != document.get("crc32"):
        raise FormatError(f"{path} is damaged: its checksum does not match; write the report again.")
    return DebugContexts(records, run_id, _sources(document, path))


def _sources(document: dict[str, Any], path: Path) -> list[SourceText] | None:
    """Text alone, within the limits: a file beyond them was not written by us."""
    records = document.get("sources")
    if records is None:
        return None
    if _crc(records) != document.get("sourcesCrc32"):
        raise FormatError(f"{path} is damaged: the checksum of its sources does not match; write the report again.")
    texts = [SourceText(str(each["file"]), str(each["text"]), str(each["absent"])) for each in records]
    if sum(len(each.text) for each in texts) > MOST_SOURCES_BYTES or len(texts) > MOST_SOURCES:
        raise FormatError(f"{path} holds more sources than a report may: {len(texts)} files.")
    return texts


def run_id_of(path: str | Path) -> str:
    """The run_id at the head of either file, without reading the rest; "" when it is not there."""
    with Path(path).open("rb") as file:
        head = file.read(512)
    _, _, rest = head.partition(b'"runId":"' if head.startswith(b"{") else b"runId")
    if head.startswith(b"{"):
        text = rest.partition(b'"')[0]
    elif rest[:1] == b"\x78":  # CBOR text with a length byte
        text = rest[2 : 2 + rest[1]] if len(rest) > 1 else b""
    else:
        text = rest[1 : 1 + (rest[0] - 0x60)] if rest[:1] >= b"\x60" else b""
    return text.decode("utf-8", "replace")


def _crc(records: Any) -> int:
    return zlib.crc32(orjson.dumps(records, option=orjson.OPT_SORT_KEYS))


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
