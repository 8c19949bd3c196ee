"""compat/sitecustomize.py: the finder, the sitecustomize that it hides, and what it leaves alone."""

import subprocess
import sys
from pathlib import Path

COMPAT = Path(__file__).resolve().parents[2] / "compat"
PACKAGE = "import tensorflow.python.ipu as ipu; print(ipu.__file__)"


def run(code: str, *folders: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": ":".join(str(one) for one in (COMPAT, *folders)), "PATH": "/usr/bin:/bin"}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


def stock_tensorflow(folder: Path) -> Path:
    python = folder / "tensorflow" / "python"
    python.mkdir(parents=True)
    for one in (python.parent, python):
        (one / "__init__.py").touch()
    return python


def test_the_package_appears_in_a_stock_tensorflow(tmp_path: Path) -> None:
    stock_tensorflow(tmp_path)
    done = run(PACKAGE, tmp_path)
    assert done.stdout.strip() == str(COMPAT / "tensorflow_ipu" / "__init__.py"), done.stderr
    assert done.stderr == ""


def test_a_tensorflow_with_its_own_package_keeps_it(tmp_path: Path) -> None:
    own = stock_tensorflow(tmp_path) / "ipu" / "__init__.py"
    own.parent.mkdir()
    own.touch()
    done = run(PACKAGE, tmp_path)
    assert done.stdout.strip() == str(own)
    assert "has its own tensorflow.python.ipu" in done.stderr


def test_the_next_sitecustomize_runs(tmp_path: Path) -> None:
    """In the form of Debian's: a module that may be missing is tried."""
    (tmp_path / "sitecustomize.py").write_text(
        "try:\n    import no_such_hook\nexcept ImportError:\n    pass\n"
        "else:\n    no_such_hook.install()\nprint('next')\n"
    )
    assert run("print('program')", tmp_path).stdout.split() == ["next", "program"]


def test_two_copies_hide_each_other_once(tmp_path: Path) -> None:
    """As where enable.sh of one checkout stands before the program of another."""
    second, third = tmp_path / "second", tmp_path / "third"
    for folder in (second, third):
        folder.mkdir()
    (second / "sitecustomize.py").write_text((COMPAT / "sitecustomize.py").read_text())
    (third / "sitecustomize.py").write_text("print('next')\n")
    done = run("print('program')", second, third)
    assert done.stderr == ""
    assert done.stdout.split() == ["next", "program"]


def test_nothing_else_is_imported() -> None:
    done = run(
        "import sys; print([one for one in sys.modules if one.startswith(('simulator', 'tensorflow', 'numpy'))])"
    )
    assert done.stdout.strip() == "[]"
