"""`python -m popvision.watch.warm_process`: a process that has imported what a program imports, and forks at each run.

Orders come as lines of JSON on stdin, answers go out the same way on stdout:

    {"program", "modules", "nice"}                    once; answered by {"ready": [names imported]}, or by {"threads"}
                                                      where imports started threads, and the process ends
    {"folder", "arguments", "environment", "disk"}    per run; answered by {"code"} when it has ended

An order has one answer: of two, the reader would buffer the second with the first, and select would wait for it.

The forked child becomes the program: `__main__`, sys.argv, the first entry of sys.path, an empty stdin, stdout and
stderr in output.txt of the folder. It leaves outcome.json there: the exception that ended it, and its modules. Modules
of the user's own files are never imported before the fork, so that each run reads them anew.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import resource
import sys
import sysconfig
import tempfile
import threading
import traceback
import types
from pathlib import Path
from typing import Any

from popvision.sweep.point_process import die_with

_PR_SET_CHILD_SUBREAPER = 36

#: What ships with popvision stands beside it and is no file of the user's.
_SHIPPED = [str(Path(__file__).resolve().parents[2] / name) for name in ("popvision", "simulator", "webapp", "compat")]
_INSTALLED = [os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
_PACKAGE_FOLDERS = ("/site-packages/", "/dist-packages/")


#: Threads and processes that the user may have beyond those of now: so many only a program that forks without end has.
_MORE_TASKS = 4096


def _bound_tasks(more: int) -> None:
    """Refuse the user's further threads and processes beyond those of now and `more`."""
    tasks = 0
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and folder.stat().st_uid == os.getuid():
                tasks += len(list((folder / "task").iterdir()))
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    bound = tasks + more
    with contextlib.suppress(ValueError, OSError):
        if soft in (-1, resource.RLIM_INFINITY) or bound < soft:
            resource.setrlimit(resource.RLIMIT_NPROC, (bound, hard))


def is_library(file: str) -> bool:
    """Whether a file belongs to Python, an installed package or popvision."""
    path = os.path.realpath(file)
    is_installed = any(name in path for name in _PACKAGE_FOLDERS)
    return is_installed or any(path.startswith(folder + os.sep) for folder in [*_SHIPPED, *_INSTALLED])


def own_files() -> list[str]:
    """Absolute paths of the modules that are the user's own, `__main__` not among them."""
    files = [str(getattr(each, "__file__", None) or "") for name, each in sys.modules.items() if name != "__main__"]
    return sorted({os.path.realpath(each) for each in files if each.endswith(".py") and not is_library(each)})


def library_modules() -> list[str]:
    """Names of the imported modules that are not the user's own."""
    return sorted(
        name
        for name, module in list(sys.modules.items())
        if getattr(module, "__spec__", None) is not None
        and not name.startswith("__")
        and (not getattr(module, "__file__", None) or is_library(str(module.__file__)))
    )


def _forget_modules_named_like_files(folder: Path) -> None:
    """Let the program import its own resource.py: the folder of a program comes before Python's own modules."""
    own = {each.stem for each in folder.iterdir() if each.suffix == ".py" or (each / "__init__.py").is_file()}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in own and getattr(module, "__file__", None):
            del sys.modules[name]


def _import(names: list[str]) -> None:
    for name in names:
        with contextlib.suppress(BaseException):  # the program itself will say so
            importlib.import_module(name)


class _Program:
    """The program in the forked child."""

    def __init__(self, path: str, order: dict[str, Any]) -> None:
        self._path, self._order, self._folder = path, order, Path(order["folder"])

    def prepare(self) -> None:
        """Give the process the surroundings of a fresh one, within its limits."""
        output = os.open(self._folder / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for number in (1, 2):
            os.dup2(output, number)
        os.close(output)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._order["disk"],) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if os.getuid():  # the kernel bounds no processes of root
            _bound_tasks(_MORE_TASKS)
        os.environ.update(self._order["environment"])
        tempfile.tempdir = None  # imports may have asked for the folder before
        sys.argv = [self._path, *self._order["arguments"]]
        _forget_modules_named_like_files(Path(sys.path[0]))

    def run(self) -> None:
        """Run it as `python prog.py` does. Leaves the exit code of an exception to the interpreter."""
        module = types.ModuleType("__main__")
        module.__dict__.update(__file__=self._path, __builtins__=__builtins__, __cached__=None)
        sys.modules["__main__"] = module
        problem: dict[str, Any] | None = None
        try:
            exec(compile(Path(self._path).read_bytes(), self._path, "exec"), module.__dict__)
        except SystemExit as end:
            if end.code not in (None, 0):
                problem = self._describe(end, f"exit code {end.code}")
            raise
        except BaseException as error:
            problem = self._describe(error, str(error))
            traceback.print_exc()
            raise SystemExit(1) from None
        finally:
            facts = {"problem": problem, "modules": library_modules(), "files": own_files()}
            (self._folder / "outcome.json").write_text(json.dumps(facts), encoding="utf-8")

    def _describe(self, error: BaseException, text: str) -> dict[str, Any]:
        frames = [(each.filename, each.lineno) for each in traceback.extract_tb(error.__traceback__)]
        own = [frame for frame in frames if not is_library(frame[0]) and Path(frame[0]).exists()]
        file, line = own[-1] if own else ("", 0)
        if isinstance(error, SyntaxError) and error.filename and not is_library(error.filename):
            file, line = error.filename, error.lineno
        place = {"file": os.path.realpath(file) if file else "", "line": line or 0}
        return {"kind": type(error).__name__, "text": text, **place}


def main() -> _Program | None:
    """Serve orders until stdin ends; in a forked child, the program to run."""
    die_with(os.getppid())
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    orders, answers = os.fdopen(os.dup(0), "r"), os.fdopen(os.dup(1), "w")
    empty = os.open(os.devnull, os.O_RDWR)
    os.dup2(empty, 0)
    os.dup2(empty, 1)
    setup = json.loads(orders.readline())
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, setup["nice"])  # not that of the thread which watches
    sys.path[0] = str(Path(setup["program"]).resolve().parent)
    _import(setup["modules"])
    if threading.active_count() > 1:  # a fork copies no thread: such modules are left to the program
        _say(answers, {"threads": threading.active_count()})
        return None
    gc.collect()
    gc.freeze()
    _say(answers, {"ready": library_modules()})
    for line in orders:
        order, parent = json.loads(line), os.getpid()
        process = os.fork()
        if process == 0:
            os.setsid()
            die_with(parent)
            orders.close()
            answers.close()
            # Byte code knows its source by second and size: that of one save would stand for the next.
            sys.dont_write_bytecode = True
            return _Program(setup["program"], order)
        _, status = os.waitpid(process, 0)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        _say(answers, {"code": os.waitstatus_to_exitcode(status)})
    return None


def _say(stream: Any, answer: dict[str, Any]) -> None:
    stream.write(json.dumps(answer) + "\n")
    stream.flush()


if __name__ == "__main__":
    program = main()
    if program is not None:
        program.prepare()
        program.run()
