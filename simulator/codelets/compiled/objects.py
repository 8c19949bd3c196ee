"""Our own `.gp` objects: codelet sources, preprocessed once for each target, in one ZIP file.

`manifest.json` holds the format, its version and, for each target, the list of sources: name, language, flags, the
member that holds the text and, where the path under __IPU__ is another one that compiles, the member of that. They are
compiled when they are loaded, by the compiler of that machine. Version 1 had no such paths; its objects load as before.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from popvision.formats.replacing import replacing
from simulator.base.errors import graph_object_load_error
from simulator.codelets.compiled.source import Preprocessed

FORMAT = "popvision codelets"
VERSION = 2
TARGETS = ("ipu1", "ipu2", "ipu21")
#: Bytes that one text may unpack to.
_MOST = 256 * 2**20


@dataclass(frozen=True)
class Paths:
    """A source for one target. `for_ipu`: its path under __IPU__, None where it has no other one that compiles."""

    source: Preprocessed
    for_ipu: Preprocessed | None = None


def write_object(path: Path, targets: Mapping[str, Sequence[Paths]]) -> None:
    """Write an object with these sources for each target; an existing file is replaced at once."""
    manifest: dict[str, list[dict[str, object]]] = {}
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for target, sources in targets.items():
            manifest[target] = []
            for i, paths in enumerate(sources):
                source, member = paths.source, f"{target}/{i}"
                row: dict[str, object] = {"name": source.name, "language": source.language, "flags": source.flags}
                row["text"] = member
                archive.writestr(member, source.text.encode("utf-8", "surrogateescape"))
                if paths.for_ipu is not None:
                    row["ipu"] = f"{member}.ipu"
                    archive.writestr(f"{member}.ipu", paths.for_ipu.text.encode("utf-8", "surrogateescape"))
                manifest[target].append(row)
        head = {"format": FORMAT, "version": VERSION, "targets": manifest}
        archive.writestr("manifest.json", json.dumps(head, indent=1))


def read_object(path: Path, target: str, architecture: str, for_ipu: bool) -> list[Preprocessed]:
    """The sources of one target of an object: `target` as the caller spells it, with or without the architecture;
    `for_ipu`: for hardware.

    Raises graph_object_load_error for files of another tool, of a newer version, without the target, or broken."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = json.loads(_member(archive, "manifest.json"))
            if manifest.get("format") != FORMAT:
                raise KeyError("format")
            if int(manifest["version"]) > VERSION:
                raise graph_object_load_error(
                    f"Codelet object '{path}' is newer than version {VERSION}; update popvision."
                )
            targets = manifest["targets"]
            if target not in targets:
                raise graph_object_load_error(
                    f"Codelet object '{path}' has no target '{target}', only {', '.join(targets)}; compile it with "
                    f"popvision popc --target {architecture}."
                )
            return [
                Preprocessed(
                    str(one["name"]),
                    {"c": "c", "c++": "c++"}[one["language"]],
                    _member(archive, one.get("ipu", one["text"]) if for_ipu else one["text"]).decode(
                        "utf-8", "surrogateescape"
                    ),
                    tuple(map(str, one["flags"])),
                )
                for one in targets[target]
            ]
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError, OSError, EOFError):
        raise graph_object_load_error(
            f"Codelet object '{path}' was not made by popvision popc (objects of other tools hold code for the IPU); "
            "compile its source with popvision popc, or add the source itself."
        ) from None


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > _MOST:
        raise ValueError(name)
    return archive.read(name)
