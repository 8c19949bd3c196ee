"""Tables on the console: natural width in a pipe, folded texts in a terminal, and no control characters."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from popvision.cli import console
from popvision.cli.console import cell_text, echo, make_table, progress

NAME = "layer1/fwd/Conv_1/" * 3


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def table() -> object:
    rows = [[7, 1_234_567, NAME, True], [10_000, None, "[red]\x1b[2J", False]]
    return make_table(("program", "cycles", "name", "live"), rows)


def test_a_pipe_gets_the_natural_width_and_no_trailing_blanks(capsys: pytest.CaptureFixture[str]) -> None:
    echo("Programs", table())
    assert capsys.readouterr().out == (
        "Programs\n"
        "program     cycles  name                                                    live\n"
        "--------------------------------------------------------------------------------\n"
        f"      7  1,234,567  {NAME}  yes\n"
        " 10,000          -  [red]\\x1b[2J" + " " * 44 + "no\n"
    )


@pytest.mark.parametrize(("width", "widest"), [(200, 80), (60, 60), (20, 49)])
def test_a_terminal_folds_texts_and_keeps_numbers(monkeypatch: pytest.MonkeyPatch, width: int, widest: int) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setattr(console, "_console", lambda stream: Console(file=stream, width=width, highlight=False))
    echo(table())
    lines = terminal.getvalue().splitlines()
    assert max(map(len, lines)) == widest
    assert any(line.startswith("      7  1,234,567  layer1/fwd/Conv_1/") for line in lines)
    assert "".join(line[20:].split()[0] for line in lines[2:-1]) == NAME


def test_style_and_columns_that_align_right(capsys: pytest.CaptureFixture[str]) -> None:
    echo(make_table(("name", "Difference"), [("a", "+1"), ("b", "-100")], right=("Difference",), header=False))
    assert capsys.readouterr().out == "a    +1\nb  -100\n"
    styled = make_table(("a",), [("x",)], style=lambda row, column: "bold red")
    text = io.StringIO()
    Console(file=text, force_terminal=True, color_system="standard").print(styled)
    assert "\x1b[1;31mx\x1b[0m" in text.getvalue()


def test_cells() -> None:
    assert [cell_text(each) for each in (None, True, 1234, 0.5, 12345.678)] == ["-", "yes", "1,234", "0.5", "12,345.7"]
    assert len(cell_text("x" * 100)) == 60


def test_progress_is_silent_without_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with progress("Reading"):
        pass
    assert capsys.readouterr().err == ""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress("Reading"):
        pass
    assert "Reading" in terminal.getvalue()
