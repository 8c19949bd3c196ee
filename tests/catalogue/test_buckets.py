"""The catalogue of an address: rows as of a folder, what is read again, what a store says that fails."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from click.testing import CliRunner

from popvision.catalogue import FILE_NAME, places, refresh, select_reports
from popvision.catalogue.places import Bucket, fetched
from popvision.cli import group
from popvision.formats.errors import FormatError
from tests.catalogue.test_catalogue import PROGRAMS, point
from tests.cli.called import popvision
from tests.reports import write_tiny

ADDRESS = "memory://runs/nightly"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "reports"
    for name in PROGRAMS:
        shutil.copytree(name, root / "points" / name.name)
    write_tiny(root / "tiny")
    point(root / "tiny", "c0ffee", 7, tiles=4)
    (root / "notes.txt").write_text("no report")
    (root / ".running").mkdir()
    shutil.copy(root / "tiny" / "profile.pop", root / ".running" / "profile.pop")
    return root


@pytest.fixture
def bucket(folder: Path) -> Iterator[Any]:
    """The same files in fsspec's store in memory, under an address two levels deep."""
    store = fsspec.filesystem("memory")
    store.put(f"{folder}/", "/runs/nightly/", recursive=True)
    yield store
    store.rm("/runs", recursive=True)


def test_rows_are_those_of_the_folder(folder: Path, bucket: Any) -> None:
    done = refresh(ADDRESS)
    assert (done.reports, done.read, done.removed, done.note) == (3, 3, 0, "")
    refresh(folder)
    expected, found = select_reports(folder), select_reports(ADDRESS)
    own = ["signature", "modified_s"]
    assert found.drop(columns=own).equals(expected.drop(columns=own))
    assert found["report"].tolist() == ["points/matmul_chain", "points/out_of_memory", "tiny"]
    assert (found["modified_s"] > 1.7e9).all()


def test_only_what_changed_is_fetched_again(folder: Path, bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    refresh(ADDRESS)
    read: list[str] = []
    real = places.read_row

    def noted(root: Path, report: Path) -> Any:
        read.append(report.name)
        return real(root, report)

    monkeypatch.setattr(places, "read_row", noted)
    assert (refresh(ADDRESS).read, read) == (0, [])
    point(folder / "tiny", "c0ffee", 7, tiles=8)
    bucket.put_file(str(folder / "tiny" / "point.json"), "/runs/nightly/tiny/point.json")
    bucket.rm("/runs/nightly/points/out_of_memory", recursive=True)
    done = refresh(ADDRESS)
    assert (done.reports, done.read, done.removed, len(read)) == (2, 1, 1, 1)
    assert select_reports(ADDRESS, where='"axis.tiles" = 8')["report"].tolist() == ["tiny"]


def test_another_machine_reads_the_file_of_the_bucket(
    bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refresh(ADDRESS)
    assert bucket.exists(f"/runs/nightly/{FILE_NAME}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    with pytest.raises(FormatError, match=r"memory://runs/nightly has no catalogue: make it with popvision catalogue"):
        select_reports(ADDRESS)
    assert refresh(ADDRESS).read == 0
    assert len(select_reports(ADDRESS)) == 3
    bucket.rm(f"/runs/nightly/{FILE_NAME}")
    shutil.rmtree(tmp_path / "other")
    assert refresh(ADDRESS).read == 3


def test_a_bucket_that_cannot_be_written_leaves_the_rows_in_the_cache(
    bucket: Any, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    def refused(*_: Any) -> None:
        raise PermissionError("Access Denied")

    monkeypatch.setattr(type(bucket), "put_file", refused)
    note = refresh(ADDRESS).note
    assert note.startswith(f"{ADDRESS} cannot be written: Access Denied. The catalogue stays in {cache}")
    assert len(select_reports(ADDRESS)) == 3


def test_a_report_that_changes_while_it_is_fetched(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = places.read_row

    def changing(root: Path, report: Path) -> Any:
        bucket.pipe("/runs/nightly/tiny/point.json", b"{}")
        return real(root, report)

    monkeypatch.setattr(places, "read_row", changing)
    refresh(ADDRESS)
    (row,) = select_reports(ADDRESS, where="report = 'tiny'").to_dict("records")
    assert (row["state"], row["cycles"] != row["cycles"]) == ("changing", True)
    monkeypatch.setattr(places, "read_row", real)
    refresh(ADDRESS)
    assert list(select_reports(ADDRESS, where="report = 'tiny'")["cycles"]) == [43]


def test_addresses_that_do_not_open_are_one_sentence(bucket: Any) -> None:
    for address, said in (
        ("nosuch://a/b", r"nosuch://a/b cannot be opened: Protocol not known: nosuch\.$"),
        ("memory://runs/empty", r"memory://runs/empty holds no report\.$"),
    ):
        with pytest.raises(FormatError, match=said):
            refresh(address)


def test_a_report_is_fetched_to_be_viewed_and_forgotten(bucket: Any) -> None:
    with fetched(f"{ADDRESS}/tiny", 2**20) as place:
        assert place.name == "tiny"
        assert (place / "profile.pop").is_file()
    assert not place.exists()
    with (
        pytest.raises(FormatError, match="more than the 0 MiB that are fetched to be viewed"),
        fetched(f"{ADDRESS}/tiny", 10),
    ):
        pass


def test_a_name_that_leads_outside_is_refused(bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bucket, "_listing", lambda _: {"../outside": {"size": 1}})
    with pytest.raises(FormatError, match="would lie outside the folder"):
        Bucket(ADDRESS).fetch(tmp_path / "inside")


def test_the_commands_take_an_address(folder: Path, bucket: Any) -> None:
    found = CliRunner().invoke(
        group, ["catalogue", ADDRESS, "--where", "report = 'tiny'", "--columns", "report,cycles"]
    )
    assert found.exit_code == 0, found.output
    assert found.output.splitlines()[-2:] == ["tiny        43", "1 of 1 reports."]
    text = popvision("catalogue", folder.as_uri(), "--columns", "report").stdout
    assert text.splitlines()[-1] == "3 of 3 reports."
    missing = CliRunner().invoke(group, ["catalogue", "nowhere"])
    assert (missing.exit_code, "Directory 'nowhere' does not exist" in missing.output) == (2, True)
