"""Sweep files: what they mean, and one sentence for each that cannot be run."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from popvision.sweep import Sweep, SweepError, read_sweep
from popvision.sweep.profiled_child import CONSTANTS
from tests.cli.called import popvision
from tests.sweep.sweep_programs import places, starts, sweep_file


def refusal(folder: Path, text: str) -> str:
    """What the command says to a sweep file; nothing may have run."""
    done = popvision("sweep", sweep_file(folder, text), "-d", folder / "out")
    assert (done.returncode, done.stdout) == (1, "")
    assert not starts(folder)
    assert places(folder / "out") == []
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("tile = 4", "there is no key tile (did you mean 'tiles'?); keys are program, "),
        ("[grid]\ntargets = ['ipu1']", "there is no key grid.targets (did you mean 'target'?); keys are commit, "),
        ("[grid]\ntarget = ['ipu3']", "target = 'ipu3' is not a chip (did you mean 'ipu2'?); the chips are ipu1"),
        ("[grid]\ntarget = 'ipu2'", "grid.target = 'ipu2' is not a list of values: write ['ipu2']."),
        ("[grid]\ntiles = []", "the axis tiles has no values."),
        ("[grid]\ntiles = [4, 4]", "the axis tiles has 4 twice."),
        ("[grid]\ntiles = [0]", "tiles = 0 is not a whole number from 1."),
        ("[grid]\ntiles = [true]", "tiles = True is not a whole number from 1."),
        ("tiles = -3", "tiles = -3 is not a whole number from 1."),
        ("[grid.constants]\nexchangeBytePerCycle = [4]", "(did you mean 'exchangeBytesPerCycle'?)"),
        ("[grid.options]\n'autoReport.directory' = ['x']", "the option autoReport.directory is set by the sweep"),
        ("[grid.options]\na = [[1]]", "options.a = [1] is neither text, number, true nor false."),
        ("[grid]\noptions = ['a']", "grid.options = ['a'] is not a table: write [grid.options]"),
        ("arguments = ['{size}']\n[grid.arguments]\nsizes = [1]", "no arguments.size (did you mean 'sizes'?)"),
        ("[grid.arguments]\nn = [1]", """arguments hold no {n}: write for example arguments = ["--n", "{n}"]."""),
        ("arguments = [1]", 'arguments holds 1, which is not text: write "1".'),
        ("runs = 0", "runs = 0 is not a whole number from 1."),
        ("runs = true", "runs = True is not a whole number."),
        ("[limits]\nmemory = '4 gigs'", "limits.memory = '4 gigs' is not a size such as"),
        ("[limits]\nseconds = 0", "limits.seconds = 0 is not a positive number."),
        ("[limits]\nmemry = '4 GiB'", "there is no key limits.memry (did you mean 'memory'?)"),
        ("[environment]\nA = 1", "environment.A = 1 is not text"),
        ("[environment]\nPVTI_OPTIONS = '{}'", "PVTI_OPTIONS is set in the sweep's environment, but a sweep sets it"),
        ("files = ['*.cpp']", "files = '*.cpp' matches no file in"),
        ("[grid]\ncommit = ['--help']", "commit = '--help' is not the name of a commit."),
        ("[grid", "sweep.toml is not TOML: "),
    ],
)
def test_a_bad_file_gets_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    assert sentence in refusal(tmp_path, text)


def test_a_grid_too_large_is_counted_not_expanded(tmp_path: Path) -> None:
    axes = "".join(f"a{axis} = {list(range(10))}\n" for axis in range(7))
    arguments = [f"{{a{axis}}}" for axis in range(7)]
    said = refusal(tmp_path, f"arguments = {arguments}\n[grid.arguments]\n{axes}")
    assert "the grid has 10,000,000 points (arguments.a0 10 x arguments.a1 10 x" in said
    assert "more than the 100,000 of one sweep" in said


def test_a_missing_file_or_program_is_named(tmp_path: Path) -> None:
    assert (
        popvision("sweep", tmp_path / "none.toml").stderr
        == f"popvision: {tmp_path}/none.toml: No such file or directory.\n"
    )
    path = tmp_path / "sweep.toml"
    path.write_text("program = 'absent.py'")
    said = popvision("sweep", path, "-d", tmp_path / "out").stderr
    assert said == f"popvision: the program {tmp_path}/absent.py does not exist or is no file.\n"
    path.write_text("tiles = 4")
    assert 'it names no program: write program = "my_program.py".' in popvision("sweep", path).stderr


def test_a_variable_that_the_sweep_sets_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPVISION_TILES", "4")
    assert "POPVISION_TILES is set in the environment, but a sweep sets it" in refusal(tmp_path, "")


def test_slurm_without_its_file_is_named_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_CONF", f"{tmp_path}/none")
    said = popvision("sweep", sweep_file(tmp_path, ""), "-d", tmp_path / "out", "--slurm").stderr
    assert said == (
        f"popvision: Slurm does not answer: SLURM_CONF={tmp_path}/none is no file; is the pod running? "
        "(docs/slurm.md)\n"
    )
    assert not starts(tmp_path)


def test_points_are_the_product_and_carry_their_inputs(tmp_path: Path) -> None:
    path = sweep_file(
        tmp_path,
        "arguments = ['--n={n}']\ntiles = 8\n[options]\nboth = true\n[constants]\nnumIPUs = 2\n"
        "[grid]\ntarget = ['ipu1', 'ipu21']\n[grid.arguments]\nn = [1, 2, 3]\n[grid.options]\n'a.b' = ['x', false]\n",
    )
    points = read_sweep(path).points(tmp_path)
    product = itertools.product(["ipu1", "ipu21"], ["--n=1", "--n=2", "--n=3"], ["x", "false"])
    assert [(p.target, p.arguments[0], p.options["a.b"]) for p in points] == list(product)
    assert {p.tiles for p in points} == {8}
    assert all(p.options["both"] == "true" and p.constants == {"numIPUs": "2"} for p in points)
    assert len({p.digest for p in points}) == len({p.label for p in points}) == 12
    assert points[0].label == "ipu1-n=1-b=x"


def test_every_constant_can_be_an_axis(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.touch()
    for name in CONSTANTS:
        (point,) = Sweep(str(program), grid={f"constants.{name}": [1]}).points(tmp_path)
        assert point.constants == {name: "1"}


def test_two_spellings_of_one_point_are_refused(tmp_path: Path) -> None:
    (tmp_path / "program.py").touch()
    sweep = Sweep("program.py", ["{a}{b}"], {"arguments.a": ["x", "xy"], "arguments.b": ["yz", "z"]}, folder=tmp_path)
    with pytest.raises(SweepError, match=r"the points .* and .* are the same; take one of them out"):
        sweep.points(tmp_path)


def digest(folder: Path, **changes: object) -> str:
    (point,) = Sweep("program.py", folder=folder, **changes).points(folder)  # type: ignore[arg-type]
    return point.digest


def test_a_digest_changes_with_whatever_the_report_depends_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "program.py").write_text("import model.layers\nimport numpy")
    (tmp_path / "model").mkdir()
    (tmp_path / "model/__init__.py").touch()
    layers, leaf = tmp_path / "model/layers.py", tmp_path / "model/leaf.py"
    layers.write_text("from . import leaf")
    leaf.write_text("x = 1")
    (tmp_path / "kernel.cpp").touch()
    (tmp_path / "notes.py").touch()
    seen = [digest(tmp_path)]
    for changes in (
        {"arguments": ["1"]},
        {"target": "ipu2"},
        {"tiles": 4},
        {"constants": {"numIPUs": 2}},
        {"options": {"a": "b"}},
        {"environment": {"A": "b"}},
        {"runs": 1},
        {"trace": True},
        {"files": ["*.cpp"]},
    ):
        seen.append(digest(tmp_path, **changes))
    leaf.write_text("x = 2")
    seen.append(digest(tmp_path))
    monkeypatch.setenv("POPVISION_HOST_CLOCK", "measured")
    seen.append(digest(tmp_path))
    assert len(set(seen)) == len(seen)
    monkeypatch.delenv("POPVISION_HOST_CLOCK")
    leaf.write_text("x = 1")
    (tmp_path / "notes.py").write_text("not imported")
    assert digest(tmp_path) == seen[0]
    other = tmp_path / "elsewhere"
    (other / "model").mkdir(parents=True)
    for name in ("program.py", "model/__init__.py", "model/layers.py", "model/leaf.py"):
        (other / name).write_bytes((tmp_path / name).read_bytes())
    assert digest(other) == seen[0]
