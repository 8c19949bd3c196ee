"""Programs as a course has them: built with the commands of docs/cpp.md, they give the results and their reports."""

from __future__ import annotations

import shutil
from collections import Counter

import pytest

import popvision
from tests.cpp.building import HERE, LIBRARIES, Shell, has_boost

COURSE = HERE / "course"


def _printed(shell: Shell, program: str, arguments: str = "", libraries: str = LIBRARIES) -> list[str]:
    """The lines of a program of the course; its report is in ./report."""
    shutil.copytree(COURSE, shell.folder, dirs_exist_ok=True)
    shell.run(f"g++ -std=c++11 -Wall -Wextra -Werror {program}.cpp {libraries} -o {program}")
    options = '{"autoReport.all":"true","autoReport.directory":"report"}'
    return shell.run(f"./{program} {arguments}", POPLAR_ENGINE_OPTIONS=options).stdout.splitlines()


def _executed(shell: Shell, run: int = 0) -> Counter[str]:
    """How often a run of the report executes the compute sets of each name, in the order of their first."""
    steps = popvision.open(shell.folder / "report").steps()
    return Counter(steps[(steps["run"] == run) & (steps["type"] == "OnTileExecute")]["name"])


def test_stream_with_codelets_of_another_file(shell):
    assert _printed(shell, "stream", "3000") == [
        "a[0] = 576.65, 0 wrong",
        "b[0] = 115.33, 0 wrong",
        "c[0] = 153.773, 0 wrong",
    ]
    assert popvision.open(shell.folder / "report").runs()["name"].tolist() == ["STREAM"]
    executed = _executed(shell)
    assert [executed[kernel] for kernel in ("Copy", "Scale", "Add", "Triad")] == [10] * 4


def test_a_halo_exchange_gives_what_the_host_computes(shell):
    printed = _printed(shell, "halo")
    assert printed == ["middle of rows 1, 5 and 9: 68.9836 4.32656 0.0156522", "as on the host"]
    assert _executed(shell) == {"step": 12}
    steps = popvision.open(shell.folder / "report").steps()
    exchanges = steps[(steps["type"] == "DoExchange") & steps["name"].str.contains("even0|odd0")]
    assert len(exchanges) == 12


def test_batches_are_prefetched_while_the_device_computes(shell):
    totals, counts = _printed(shell, "prefetch")
    assert totals == "24 72 144 240 360 504 "
    assert counts == "prefetched 5, dropped 0, completed 6"
    for run in (0, 1):
        assert {count for name, count in _executed(shell, run).items() if name.startswith("sum/")} == {3}


@pytest.mark.skipif(not has_boost("g++"), reason="needs boost: apt-get install -y libboost-program-options-dev")
def test_two_programs_with_options_of_boost_run_from_a_saved_executable(shell):
    libraries = f"{LIBRARIES} -lboost_program_options"
    assert _printed(shell, "powers", "--save-exe powers.exe", libraries) == ["compiled", "eigenvalue 25"]
    assert _executed(shell, 0)["powers/ones"] == 1
    assert _executed(shell, 1)["powers/product/Conv_1/Convolve"] == 30
    assert shell.run("./powers --load-exe powers.exe").stdout == "eigenvalue 25\n"


def test_dense_layers_with_poplibs(shell):
    scores, checked, *summary = _printed(shell, "product", libraries="-lpoplar -lpoplin -lpopnn -lpopops -lpoputil")
    assert scores == "scores 5.52148 6.08008 -0.667969 1.22461"
    assert checked == "too far 0, rows of chances 8"
    assert "  Tiles per IPU:          32" in summary
    layers = [name for name in _executed(shell) if name.endswith("/Convolve")]
    assert layers == ["layer1/Conv_1/Convolve", "layer2/Conv_1/Convolve"]
