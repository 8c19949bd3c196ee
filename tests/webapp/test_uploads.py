"""Uploads: what lands in the private folder, and what never does."""

from __future__ import annotations

import gzip
import io
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from popvision.analysis.summary.report_list import find
from tests.reports import write_tiny
from webapp.base.library import Library
from webapp.shell.app import create_app
from webapp.shell.security import HostPolicy
from webapp.shell.uploads import RefusedError, Uploads, store
from webapp.shell.uploads.unpack import Caps, unpack

PORT = 8124
HEADERS = {"Host": f"localhost:{PORT}", "X-Popvision": "upload", "Origin": f"http://localhost:{PORT}"}

Pack = Callable[..., bytes]


def with_large_table(archive: bytes, size: int, zip64: bool) -> bytes:
    """The archive with a last record, or one of zip64, that says how long its table of contents is."""
    body, end = archive[:-22], bytearray(archive[-22:])
    if not zip64:
        end[12:16] = struct.pack("<I", size)
        return body + bytes(size) + bytes(end)
    end[12:20] = b"\xff" * 8
    record = struct.pack("<4sQHHLLQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, size, 0)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, len(body), 1)
    return body + bytes(min(size, 4 << 20)) + record + locator + bytes(end)


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write_tiny(tmp_path_factory.mktemp("upload")).read_bytes()


def zipped(*members: tuple[str, bytes], link: str = "") -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in members:
            info = zipfile.ZipInfo(path)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (stat.S_IFLNK if path == link else stat.S_IFREG | 0o644) << 16
            archive.writestr(info, content)
    return made.getvalue()


def tarred(*members: tuple[str, bytes], mode: str = "w:gz", last: bytes = b"") -> bytes:
    """`last` = type of the last member."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as archive:  # type: ignore[call-overload]
        for index, (path, content) in enumerate(members):
            info = tarfile.TarInfo(path)
            info.size = len(content)
            if last and index == len(members) - 1:
                info.type, info.linkname, info.size = last, "/etc/passwd", 0
            archive.addfile(info, io.BytesIO(content[: info.size]))
    return made.getvalue()


def plain_tar(*members: tuple[str, bytes]) -> bytes:
    return tarred(*members, mode="w")


BOTH = pytest.mark.parametrize("pack", [zipped, tarred], ids=["zip", "tar.gz"])


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def taken(tmp_path: Path, content: bytes, name: str = "a.zip", **caps: int) -> Path:
    upload, folder = tmp_path / "upload", tmp_path / "inside"
    upload.write_bytes(content)
    folder.mkdir()
    unpack(upload, name, folder, Caps(**caps))
    return folder


@pytest.mark.parametrize("pack", [zipped, tarred, plain_tar], ids=["zip", "tar.gz", "tar"])
def test_a_report_lands_inside_and_nothing_else_does(tmp_path: Path, profile: bytes, pack: Pack) -> None:
    members = [("run/training/profile.pop", profile), ("run/debug.json", b"{}"), ("run/secrets.sh", b"#!")]
    folder = taken(tmp_path, pack(*members, ("./run/trace.pvti", b"x")))
    assert files(folder) == {"run/training/profile.pop", "run/debug.json", "run/trace.pvti"}
    assert (folder / "run/training/profile.pop").read_bytes() == profile


@pytest.mark.parametrize(("name", "lands"), [("profile.pop", "profile.pop"), ("../../x.pvti", "x.pvti")])
def test_a_database_alone(tmp_path: Path, profile: bytes, name: str, lands: str) -> None:
    assert files(taken(tmp_path, profile, name)) == {lands}


ESCAPES = [
    "../escaped.pvti",
    "a/../../escaped.pvti",
    "/tmp/escaped.pvti",
    "..\\escaped.pvti",
    "C:/escaped.pvti",
    "a/" * 20 + "escaped.pvti",
    "a" * 300 + ".pvti",
    "escaped\n.pvti",
]


@pytest.mark.parametrize("path", ESCAPES)
@BOTH
def test_paths_that_leave_the_folder_refuse_the_archive(tmp_path: Path, profile: bytes, path: str, pack: Pack) -> None:
    with pytest.raises(RefusedError, match="the archive holds"):
        taken(tmp_path, pack((path, b"out"), ("profile.pop", profile)))
    assert not [each for each in tmp_path.rglob("*") if "escaped" in each.name]
    assert not Path("/tmp/escaped.pvti").exists()


def test_a_name_with_a_zero_byte_is_refused(tmp_path: Path, profile: bytes) -> None:
    content = zipped(("escapedX.pvti", b"out"), ("profile.pop", profile)).replace(b"escapedX", b"escaped\0")
    with pytest.raises(RefusedError):
        taken(tmp_path, content)
    assert files(tmp_path / "inside") == set()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(tmp_path: Path, profile: bytes, kind: bytes) -> None:
    with pytest.raises(RefusedError, match="a link or a device"):
        taken(tmp_path, tarred(("profile.pop", profile), ("debug.json", b""), last=kind))
    assert not any(path.is_symlink() for path in tmp_path.rglob("*"))
    assert files(tmp_path / "inside") <= {"profile.pop"}


def test_a_symbolic_link_in_a_zip_is_refused(tmp_path: Path, profile: bytes) -> None:
    with pytest.raises(RefusedError, match="a link or a device"):
        taken(tmp_path, zipped(("profile.pop", profile), ("debug.json", b"/etc/passwd"), link="debug.json"))
    assert files(tmp_path / "inside") == set()


@BOTH
def test_bombs_stop_at_the_cap(tmp_path: Path, profile: bytes, pack: Pack) -> None:
    content = pack(("profile.pop", profile), ("archive.a", bytes(40 << 20)))
    assert len(content) < 1 << 20
    with pytest.raises(RefusedError, match="more than the limit"):
        taken(tmp_path, content, unpacked_bytes=1 << 20, members=100)
    assert sum(each.stat().st_size for each in (tmp_path / "inside").rglob("*") if each.is_file()) <= 2 << 20


@BOTH
def test_many_members_are_refused(tmp_path: Path, pack: Pack) -> None:
    with pytest.raises(RefusedError, match="more than 50 files"):
        taken(tmp_path, pack(*((f"x{i}", b"") for i in range(60))), members=50)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is no archive"),
        (b"plain text " * 60, "it is no archive"),
        (b"PK\3\4" + bytes(90), "damaged"),
        (b"\x1f\x8b" + bytes(90), "damaged"),
        (zipped(("readme.txt", b"x")), "holds no profile.pop"),
        (with_large_table(zipped(("profile.pop", b"x")), 3 << 20, zip64=False), "contents is larger than 2 MiB"),
        (with_large_table(zipped(("profile.pop", b"x")), 3 << 20, zip64=True), "contents is larger than 2 MiB"),
        (with_large_table(zipped(("profile.pop", b"x")), 2**63, zip64=True), "damaged"),
    ],
)
def test_other_files_are_refused_with_a_sentence(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        taken(tmp_path, content)


TRACE = b'[{"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "name": "a"}]'


@pytest.mark.parametrize(
    ("name", "content", "written"),
    [
        ("t.json", TRACE, "t.json"),
        ("../t.json.gz", gzip.compress(TRACE, mtime=0), "t.json.gz"),
        ("what it is", TRACE, "what it is.trace"),
        ("archive.zip", zipped(("a/t.json", TRACE), ("a/settings.json", b"{}")), "a/t.json"),
    ],
    ids=["json", "gzip", "any name", "zip"],  # not the contents: gzip writes the time, and workers name the same tests
)
def test_traces_of_other_tools_are_taken(tmp_path: Path, name: str, content: bytes, written: str) -> None:
    """By their contents: settings beside them are left out."""
    (tmp_path / "packed").write_bytes(content)
    (tmp_path / "inside").mkdir()
    unpacked = unpack(tmp_path / "packed", name, tmp_path / "inside")
    assert [str(path.relative_to(tmp_path / "inside")) for path in unpacked.written] == [written]
    assert files(tmp_path / "inside") == {written}
    assert [found.path for found in find(tmp_path / "inside")[0]] == unpacked.written


Viewer = tuple[FlaskClient, Library, Uploads]


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Viewer:
    library = Library([tmp_path_factory.mktemp("reports")])
    uploads = Uploads(library, Caps(packed_bytes=1 << 20))
    return create_app(library, HostPolicy(port=PORT), uploads=uploads).server.test_client(), library, uploads


def test_what_is_refused_leaves_nothing_behind(viewer: Viewer, profile: bytes) -> None:
    client, library, uploads = viewer
    for content in (zipped(("profile.pop", profile), ("../x.pvti", b"")), bytes(2 << 20), b"text"):
        answer = client.post("/data/upload?name=<script>.zip", data=content, headers=HEADERS)
        assert answer.status_code == 422
        assert answer.mimetype == "text/plain"
        assert "\n" not in answer.text
    assert uploads._folder is None or files(Path(uploads._folder.name)) == set()
    assert [each for each in library.entries() if not each.is_sample] == []


def test_an_upload_opens(viewer: Viewer, profile: bytes) -> None:
    client, library, _ = viewer
    answer = client.post("/data/upload?name=my run.zip", data=zipped(("profile.pop", profile)), headers=HEADERS)
    assert answer.status_code == 200
    entry = next(each for each in library.entries() if not each.is_sample)
    assert answer.json == {"href": f"/r/{entry.key}/overview", "entries": 1}
    assert library.report(entry.key).reader.total_cycles() == 43
    assert entry.path.name == "my_run"
    assert {stat.S_IMODE(folder.stat().st_mode) & 0o700 for folder in entry.path.parents[:3]} == {0o700}
    assert stat.S_IMODE(entry.path.parents[2].stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["upload.zip", "packed.zip", "contents.zip", "日本.zip", "", ".zip", "a/b.zip"])
def test_any_name_is_taken(viewer: Viewer, profile: bytes, name: str) -> None:
    client, library, _ = viewer
    before = len(library.entries())
    answer = client.post(
        "/data/upload", query_string={"name": name}, data=zipped(("profile.pop", profile)), headers=HEADERS
    )
    assert (answer.status_code, len(library.entries())) == (200, before + 1)


def test_only_uploads_that_are_kept_count(tmp_path: Path, profile: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MOST_UPLOADS", 2)
    uploads = Uploads(Library([tmp_path]))
    good = zipped(("profile.pop", profile))
    for content in (b"text", b"text", good, b"text", good):
        if content is good:
            assert len(uploads.take(io.BytesIO(content), "a.zip", None)) == 1
        else:
            with pytest.raises(RefusedError, match="it is no archive"):
                uploads.take(io.BytesIO(content), "a.zip", None)
    with pytest.raises(RefusedError, match="limit of 2 uploads"):
        uploads.take(io.BytesIO(good), "a.zip", None)


def test_other_sites_cannot_upload(viewer: Viewer, profile: bytes) -> None:
    client, _, _ = viewer
    for change in ({"Origin": "http://evil.example"}, {"X-Popvision": ""}, {"Host": "evil.example"}):
        assert client.post("/data/upload?name=a.pop", data=profile, headers=HEADERS | change).status_code == 403
