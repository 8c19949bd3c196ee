"""`popvision watch` of a PyTorch program: each line of a module has its figures, new at each save."""

from __future__ import annotations

from pathlib import Path

from tests.watch.watch_command import watching

PROGRAM = """import poptorch
import torch


class Sums(torch.nn.Module):
    def forward(self, a, b):
        c = a + b
        return c * a


options = poptorch.Options()
options.showCompilationProgressBar(False)
model = poptorch.inferenceModel(Sums(), options)
print(model(torch.ones(64), torch.ones(64)))
"""


def test_lines_of_a_module_have_figures(tmp_path: Path) -> None:
    program = tmp_path / "sums.py"
    program.write_text(PROGRAM, encoding="utf-8")
    with watching(program) as watch:
        first = watch.next_version()["figures"]
        assert first["lines"]["7"][0] > 0
        assert first["lines"]["8"][0] > 0
        program.write_text(PROGRAM.replace("ones(64)", "ones(65536)"), encoding="utf-8")
        second = watch.next_version()["figures"]["changes"]["before"]["lines"]
        assert second["7"][0] > 0
        assert second["8"][0] > 0
        program.write_text(PROGRAM.replace("c * a", "c * torch.nosuch(a)"), encoding="utf-8")
        problem = watch.until(lambda state: state["status"] == "failed")["problem"]
        assert "nosuch" in problem["sentence"]
