"""`popvision verify` and `info --verify`: every file of a folder against its checksums, in one vocabulary."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import popvision as pv
from popvision import pva
from popvision.formats.executable import parts_of_entry
from popvision.formats.pvti.generate import generate_trace
from tests.cli.called import popvision
from tests.formats.mutated_formats import FORMATS
from tests.pvti.rewriting import without_checksums
from tests.samples import SAMPLES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A report and a trace, both sound."""
    shutil.copytree(SAMPLES / "matmul_chain_hardware", tmp_path / "run")
    generate_trace(tmp_path / "run" / "host.pvti", 300, threads=2)
    return tmp_path / "run"


def flip(path: Path, share: float) -> None:
    data = bytearray(path.read_bytes())
    data[int(len(data) * share)] ^= 16
    path.write_bytes(data)


def verified(path: Path) -> dict[str, tuple[str, str, int]]:
    """File -> (verified, integrity, number of losses), and the exit code for ""."""
    done = popvision("verify", path, "--json")
    rows = json.loads(done.stdout)
    said = {Path(row["path"]).name: (row["verified"], row["integrity"], len(row["lost"])) for row in rows}
    return said | {"": ("", "", done.returncode)}


def test_sound_files(folder: Path) -> None:
    sound = ("yes", "sound", 0)
    assert verified(folder) == {"": ("", "", 0), "profile.pop": sound, "host.pvti": sound, "debug.cbor": sound}
    assert "host.pvti" in popvision("verify", folder).stdout
    without_checksums(folder / "host.pvti")
    assert verified(folder)["host.pvti"] == ("no", "without checksums: written before 1.1", 0)
    assert verified(folder)[""] == ("", "", 0)
    assert pva.openTrace(folder / "host.pvti").verified == "no"


@pytest.mark.parametrize("name", ["profile.pop", "host.pvti", "debug.cbor"])
def test_a_flipped_bit_is_damage(folder: Path, name: str) -> None:
    flip(folder / name, 0.5)
    found = verified(folder)
    assert found[""] == ("", "", 1)
    assert found[name][0] == ("no" if name == "debug.cbor" else "partly")
    assert found[name][1] == "damaged"
    assert [each for each in found if found[each][1] == "damaged"] == [name]
    text = popvision("verify", folder).stdout
    assert f"{name}: lost: " in text


def test_every_way_says_the_same(folder: Path) -> None:
    flip(folder / "profile.pop", 0.5)
    flip(folder / "host.pvti", 0.5)
    rows = {Path(row["path"]).name: row for row in json.loads(popvision("verify", folder, "--json").stdout)}
    info = json.loads(popvision("info", folder, "--verify", "--json").stdout)
    report, trace = pv.open(folder / "profile.pop", salvage=True), pv.open(folder / "host.pvti")
    for name, opened, strict in (
        ("profile.pop", report, pva.openReport(folder / "profile.pop")),
        ("host.pvti", trace, pva.openTrace(folder / "host.pvti")),
    ):
        facts = info[str(folder / name)]
        for losses in (facts["lost"], opened.lost, strict.lost):
            assert losses == rows[name]["lost"] != []
        assert {facts["verified"], opened.verified, strict.verified} == {rows[name]["verified"]} == {"partly"}


def test_nothing_to_verify(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("x")
    done = popvision("verify", tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    (tmp_path / "profile.pop").write_bytes(b"")
    assert verified(tmp_path) == {"profile.pop": ("no", "damaged", 1), "": ("", "", 1)}


def test_executables_and_entries_of_caches(tmp_path: Path) -> None:
    """By their names in folders, by their contents alone; nothing of the simulator reads them."""
    for name in ("cached.popef", "cached.poplar_exec"):
        FORMATS["executable"].make(tmp_path / name)
    notes, plain, _ = parts_of_entry((tmp_path / "cached.popef").read_bytes())
    (tmp_path / "model.ipu_bin").write_bytes(plain)
    before = b"PVEXE1\r\n" + len(notes).to_bytes(8, "little") + notes + plain
    (tmp_path / "before.popef").write_bytes(before)
    sound = ("yes", "sound", 0)
    assert verified(tmp_path) == {
        "": ("", "", 0),
        "before.popef": ("no", "without checksums: written before executables had checksums", 0),
        **dict.fromkeys(["cached.popef", "cached.poplar_exec", "model.ipu_bin"], sound),
    }
    (tmp_path / "model.ipu_bin").rename(tmp_path / "any name")
    assert verified(tmp_path / "any name")["any name"] == sound
    for name, place in (("cached.popef", 0), ("cached.poplar_exec", 0.01), ("any name", 0.9)):
        flip(tmp_path / name, place)
        assert verified(tmp_path / name) == {"": ("", "", 1), name: ("no", "damaged", 1)}
