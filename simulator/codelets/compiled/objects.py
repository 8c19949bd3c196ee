"""Our own `.gp` objects: codelet sources, preprocessed once for each target, in one ZIP file.

`manifest.json` holds the format, its version and, for each target, the list of sources: name, language, flags and the
member that holds the text. They are compiled when they are loaded, by the compiler of that machine.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from popvision.formats.replacing import replacing
from simulator.base.errors import graph_object_load_error
from simulator.codelets.compiled.source import Preprocessed

FORMAT = "popvision codelets"
VERSION = 1
TARGETS = ("ipu1", "ipu2", "ipu21")
#: Bytes that one text may unpack to.
_MOST = 256 * 2**20


def write_object(path: Path, targets: Mapping[str, Sequence[Preprocessed]]) -> None:
    """Write an object with these sources for each target; an existing file is replaced at once."""
    manifest: dict[str, list[dict[str, object]]] = {}
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for target, sources in targets.items():
            manifest[target] = []
            for i, source in enumerate(sources):
                member = f"{target}/{i}"
                archive.writestr(member, source.text.encode("utf-8", "surrogateescape"))
                manifest[target].append(
                    {"name": source.name, "language": source.language, "flags": source.flags, "text": member}
                )
        head = {"format": FORMAT, "version": VERSION, "targets": manifest}
        archive.writestr("manifest.json", json.dumps(head, indent=1))


def read_object(path: Path, target: str, architecture: str) -> list[Preprocessed]:
    """The sources of one target of an object: `target` as the caller spells it, with or without the architecture.

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
                    _member(archive, one["text"]).decode("utf-8", "surrogateescape"),
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
