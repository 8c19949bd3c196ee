"""Where the reports of a catalogue lie: a folder, or a bucket that fsspec opens (s3://, gs://, abfs://, sftp:// ...).

A place lists its reports with signatures, reads the row of one, and has a local folder for the catalogue's file. Of a
bucket that folder is a cache of the user; the file is copied to the bucket after each refresh, and from it when the
bucket has another than this cache wrote, so that one machine's refresh serves the next. A report is downloaded to be
read and removed again: profile.pop with its journal, and point.json. Cost: a listing of all files below the address per
refresh, a download per new or changed report.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from popvision.analysis.summary.report_list import MOST_FOLDERS, find
from popvision.catalogue.report_row import SIGNED, read_row, signature_of
from popvision.formats.errors import FormatError
from popvision.formats.replacing import replacing

FILE_NAME = ".popvision-catalogue.parquet"

#: Files of a report that its row is read from, and those that only the viewer opens.
_READ = ("profile.pop", "profile.pop-wal", "point.json", "../point.json")

#: What stores call the version of a file, best first.
_VERSIONS = ("ETag", "etag", "md5", "checksum", "LastModified", "last_modified", "updated", "mtime", "created")
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "created")

#: In the cache of a bucket: version of the file in the bucket that this cache wrote or read last.
_KNOWN = "version"


class Place(Protocol):
    """Reports below a folder or an address."""

    @property
    def name(self) -> str:
        """As a user writes it."""

    @property
    def root(self) -> Path:
        """The local folder that holds the catalogue's file."""

    def reports(self) -> tuple[dict[str, str], str]:
        """Signature of each report by its name relative to the place, and a note ("" when all is well)."""

    def row(self, name: str) -> dict[str, Any]:
        """The row of a report (report_row.py)."""

    def read_file(self) -> None:
        """Bring the catalogue's file from where the reports lie."""

    def write_file(self) -> str:
        """Take the catalogue's file to where the reports lie. Returns a note, "" when all is well."""


def is_bucket(place: str | Path) -> bool:
    """Whether this is an address, not a folder."""
    return isinstance(place, str) and "://" in place


def place_of(place: str | Path) -> Place:
    """The place that a user means. Raises FormatError for an address that cannot be opened."""
    return Bucket(str(place)) if is_bucket(place) else Folder(Path(place))


class Folder:
    """A folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self.root = folder.resolve()

    @property
    def name(self) -> str:
        return str(self.root)

    def reports(self) -> tuple[dict[str, str], str]:
        entries, note = find(self.root)
        folders = [entry.path for entry in entries if entry.kind == "report"]
        return {str(each.relative_to(self.root)): signature_of(each) for each in folders}, note

    def row(self, name: str) -> dict[str, Any]:
        return read_row(self.root, self.root / name)

    def read_file(self) -> None:
        return

    def write_file(self) -> str:
        return ""


class Bucket:
    """An address of fsspec. Raises FormatError where the address, or what it needs, is missing."""

    def __init__(self, address: str) -> None:
        self.name = address.rstrip("/") if not address.endswith("://") else address
        self._store, self._top = _open_store(self.name)
        self.root = _cache_folder(self.name)
        self._files: dict[str, Mapping[str, Any]] = {}

    def reports(self) -> tuple[dict[str, str], str]:
        self._files = self._listing()
        folders = [str(PurePosixPath(name).parent) for name in self._files if name.rpartition("/")[2] == "profile.pop"]
        folders = [
            name for name in folders if not any(part.startswith(".") and part != "." for part in name.split("/"))
        ]
        note = ""
        if len(folders) > MOST_FOLDERS:
            note = f"{self.name} holds more than {MOST_FOLDERS:,} reports; not all were read: give an address below it."
        return {name: self._signature(name, self._files) for name in sorted(folders)[:MOST_FOLDERS]}, note

    def _listing(self) -> dict[str, Mapping[str, Any]]:
        """What the store says of each file, by its name relative to the address."""
        with self._sentences("listed"):
            self._store.invalidate_cache()
            found = self._store.find(self._top, detail=True)
        length = len(self._top.rstrip("/")) + 1 if self._top.strip("/") else 0
        return {path[length:] if length else path.lstrip("/"): facts for path, facts in found.items()}

    def _signature(self, report: str, files: Mapping[str, Mapping[str, Any]]) -> str:
        parts = []
        for name in SIGNED:
            facts = files.get(_beside(report, name))
            if facts is not None:
                parts.append(f"{name} {_version(facts)} {facts.get('size')}")
        return "; ".join(parts)

    def row(self, name: str) -> dict[str, Any]:
        before = self._signature(name, self._files)
        with tempfile.TemporaryDirectory(prefix="popvision-") as folder:
            here = Path(folder, "above", "report")
            here.mkdir(parents=True)
            for part in _READ:
                if _beside(name, part) in self._files:
                    self._get(_beside(name, part), here / part)
            row = read_row(here.parent, here)
        own = [facts for path, facts in self._files.items() if str(PurePosixPath(path).parent) == name]
        row |= {
            "report": name,
            "label": row["label"] if row["label"] != here.name else PurePosixPath(name).name,
            "signature": before,
            "size_bytes": sum(int(facts.get("size") or 0) for facts in own),
            "modified_s": max(map(_seconds, own), default=0.0),
        }
        if self._signature(name, self._listing_now(name)) != before:
            return {key: row[key] for key in _FACTS_OF_CHANGING if key in row} | {"signature": "", "state": "changing"}
        return row

    def _listing_now(self, report: str) -> dict[str, Mapping[str, Any]]:
        """What the store says now of the files beside a report, and above it where it has some: by listing, since
        stores describe a file in other words when they are asked for it alone."""
        folders = {
            str(PurePosixPath(_beside(report, each)).parent) for each in SIGNED if _beside(report, each) in self._files
        }
        found: dict[str, Mapping[str, Any]] = {}
        for folder in folders:
            with self._sentences("listed"):
                self._store.invalidate_cache()
                listed = self._store.ls(self._at(folder).removesuffix("/."), detail=True)
            found |= {str(PurePosixPath(folder, each["name"].rpartition("/")[2])): each for each in listed}
        return found

    def _now(self, path: str) -> Mapping[str, Any] | None:
        """What the store says of a file when asked for it alone; None for one that is not there."""
        try:
            self._store.invalidate_cache()
            facts: Mapping[str, Any] = self._store.info(self._at(path))
        except FileNotFoundError:
            return None
        except Exception as problem:
            raise self._problem("read", problem) from None
        return facts

    def read_file(self) -> None:
        there = self._now(FILE_NAME)
        known = self.root / _KNOWN
        if there is None or (known.is_file() and known.read_text() == _version(there)):
            return
        with replacing(self.root / FILE_NAME) as path:
            self._get(FILE_NAME, path)
        known.write_text(_version(there))

    def write_file(self) -> str:
        try:
            self._store.put_file(str(self.root / FILE_NAME), self._at(FILE_NAME))
        except Exception as problem:
            return f"{self._problem('written', problem)} The catalogue stays in {self.root}."
        there = self._now(FILE_NAME)
        (self.root / _KNOWN).write_text("" if there is None else _version(there))
        return ""

    def fetch(self, target: Path) -> int:
        """Download all files below the address into a folder; how many. Names that would lie outside are refused."""
        files = self._listing() or {}
        for name in files:
            path = (target / name).resolve()
            if not path.is_relative_to(target.resolve()) or path == target.resolve():
                raise FormatError(f"{self.name} holds a file named {name!r}, which would lie outside the folder.")
            path.parent.mkdir(parents=True, exist_ok=True)
            self._get(name, path)
        return len(files)

    def size(self) -> int:
        """Bytes of all files below the address."""
        return sum(int(facts.get("size") or 0) for facts in self._listing().values())

    def _at(self, name: str) -> str:
        return f"{self._top.rstrip('/')}/{name}"

    def _get(self, name: str, path: Path) -> None:
        with self._sentences("read"):
            self._store.get_file(self._at(name), str(path))

    @contextlib.contextmanager
    def _sentences(self, verb: str) -> Iterator[None]:
        try:
            yield
        except Exception as problem:
            raise self._problem(verb, problem) from None

    def _problem(self, verb: str, problem: Exception) -> FormatError:
        said = " ".join(str(problem).split())[:200].rstrip(".") or type(problem).__name__
        return FormatError(f"{self.name} cannot be {verb}: {said}.")


#: Columns of a row that stay when the report changed while it was read.
_FACTS_OF_CHANGING = ("report", "label", "target", "modified_s", "size_bytes", "problem", "digest", "commit")


def _beside(report: str, name: str) -> str:
    """The name of a file of a report, or of the folder above it, relative to the address."""
    above = PurePosixPath(report)
    while name.startswith("../"):
        above, name = above.parent, name[3:]
    return str(above / name)


def _version(facts: Mapping[str, Any]) -> str:
    return str(next((facts[key] for key in _VERSIONS if facts.get(key)), ""))


def _seconds(facts: Mapping[str, Any]) -> float:
    """When a file was written, seconds since the epoch; 0 where the store does not say."""
    moment = next((facts[key] for key in _TIMES if facts.get(key)), 0.0)
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            return 0.0
    return moment.timestamp() if isinstance(moment, datetime) else float(moment)


def _open_store(address: str) -> tuple[Any, str]:
    """The file system of an address and the path in it. Raises FormatError."""
    try:
        core = importlib.import_module("fsspec.core")
    except ImportError:
        raise FormatError(f"{address} is an address: buckets need fsspec: pip install 'popvision[bucket]'.") from None
    try:
        store, top = core.url_to_fs(address)
    except ImportError as problem:
        said = " ".join(str(problem).split())[:200].rstrip(".")
        raise FormatError(f"{address} needs a package that is not installed: {said}.") from None
    except Exception as problem:
        said = " ".join(str(problem).split())[:200].rstrip(".")
        raise FormatError(f"{address} cannot be opened: {said}.") from None
    return store, str(top)


def _cache_folder(address: str) -> Path:
    """The folder of this user for the catalogue of an address, made when it is missing. Raises FormatError."""
    digest = hashlib.blake2b(address.encode(), digest_size=8).hexdigest()
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "popvision" / "buckets" / digest
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FormatError(f"the cache {folder} cannot be made ({problem.strerror}); set XDG_CACHE_HOME.") from None
    return folder


@contextlib.contextmanager
def fetched(address: str, most_bytes: int) -> Iterator[Path]:
    """The files below an address in a folder that is removed at the end. Raises FormatError for more than
    `most_bytes`."""
    bucket = Bucket(address)
    size = bucket.size()
    if size > most_bytes:
        raise FormatError(
            f"{address} holds {size / 2**20:,.0f} MiB, more than the {most_bytes / 2**20:,.0f} MiB that are fetched to "
            "be viewed: give the address of a report below it."
        )
    folder = Path(tempfile.mkdtemp(prefix="popvision-"))
    try:
        place = folder / (PurePosixPath(bucket.name.partition("://")[2]).name or "bucket")
        place.mkdir()
        if not bucket.fetch(place):
            raise FormatError(f"{address} holds no file.")
        yield place
    finally:
        shutil.rmtree(folder, ignore_errors=True)
