"""`popvision watch main.cpp`: built and run at each save, with figures beside the lines of C++."""

from __future__ import annotations

import os
import select
import shutil

from popvision.watch.compiled_program import CompiledRuns
from popvision.watch.limits import Limits
from popvision.watch.version import read_version
from tests.cpp.building import HERE

#: Leaves a process behind, whose id it prints.
LEAVING = r"""
#include <cstdio>
#include <unistd.h>
int main() {
  const int child = fork();
  if (child == 0) {
    alarm(60);
    return pause();
  }
  std::printf("%d\n", child);
  return 3;
}
"""


def _ends(process: int) -> bool:
    """Whether a process ends within seconds."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 10)[0])
    finally:
        os.close(handle)


def _runs(shell, monkeypatch) -> CompiledRuns:
    """The program "twin.cpp" of the shell's folder, as `popvision watch` runs it after `source enable.sh`."""
    for name in ("CPATH", "LIBRARY_PATH", "LD_LIBRARY_PATH"):
        monkeypatch.setenv(name, shell.run(f"echo ${name}").stdout.strip())
    monkeypatch.chdir(shell.folder)
    shutil.copy(HERE / "programs" / "twin.cpp", shell.folder)
    return CompiledRuns("twin.cpp", [], Limits(), {}, shell.folder / "scratch")


def test_a_watched_program_of_cpp_has_figures_beside_its_lines(shell, monkeypatch):
    runs = _runs(shell, monkeypatch)
    source = shell.folder / "twin.cpp"
    ended = runs.run(shell.folder / "first", lambda: False)
    assert ended.problem is None
    assert ended.files == [str(source)]
    version = read_version(1, 0.0, shell.folder / "first", {str(source): source.read_text()})
    lines = source.read_text().splitlines()
    costs = {lines[number - 1].strip(): line.figures[0] for number, line in version.files[str(source)].lines.items()}
    (product,) = [cycles for text, cycles in costs.items() if "poplin::matMul" in text]
    assert product > 0

    source.write_text(source.read_text().replace("Device device", "Devices device"))
    refused = runs.run(shell.folder / "second", lambda: False)
    line = source.read_text().splitlines().index("  Devices device = model.createDevice();") + 1
    assert (refused.problem.file, refused.problem.line) == (str(source), line)
    assert "Devices" in refused.problem.sentence
    source.write_text(LEAVING)
    failed = runs.run(shell.folder / "third", lambda: False)
    assert failed.problem.sentence == "The program ended by exit code 3."
    assert _ends(int(failed.output))
    source.write_text("void nowhere(); int main() { nowhere(); }")
    unlinked = runs.run(shell.folder / "fourth", lambda: False)
    assert "undefined reference to `nowhere()'" in unlinked.problem.sentence
    assert runs.run(shell.folder / "fifth", lambda: True) is None
