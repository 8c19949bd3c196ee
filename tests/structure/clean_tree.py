"""Run a command and fail if it leaves the tree changed: python -m tests.structure.clean_tree COMMAND ...

Looks at files and folders, empty ones too, so it works without git. Names that .gitignore lists, and hidden ones, do
not count. Prints the wall and processor time of the command last.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from fnmatch import fnmatchcase
from pathlib import Path

MOST_NAMED = 10

#: Size and time of last change of a file, None for a folder, by path below the root.
Tree = dict[str, tuple[int, int] | None]


def ignored_names(root: Path) -> list[str]:
    """Patterns of .gitignore as patterns of names; all of this project's are of one name."""
    file = root / ".gitignore"
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return [line.strip("/") for line in lines if line and not line.startswith("#")]


def tree(root: Path) -> Tree:
    """What lies below `root`."""
    ignored, found = ignored_names(root), Tree()
    pending = [root]
    while pending:
        for path in pending.pop().iterdir():
            if path.name.startswith(".") or any(fnmatchcase(path.name, pattern) for pattern in ignored):
                continue
            is_folder = path.is_dir() and not path.is_symlink()
            if is_folder:
                pending.append(path)
            state = path.lstat()
            found[str(path.relative_to(root))] = None if is_folder else (state.st_size, state.st_mtime_ns)
    return found


def differences(before: Tree, after: Tree) -> list[str]:
    """What changed, a phrase each; what lies in a new folder goes without saying."""
    new = after.keys() - before.keys()
    added = sorted(path for path in new if str(Path(path).parent) not in new)
    removed = sorted(before.keys() - after.keys())
    changed = sorted(path for path in before.keys() & after.keys() if before[path] != after[path])
    return [
        *(f"{path} is new" for path in added),
        *(f"{path} is gone" for path in removed),
        *(f"{path} has changed" for path in changed),
    ]


def run_cleanly(root: Path, command: list[str]) -> int:
    """The command's exit code, or 1 where it succeeds but leaves the tree changed, which a sentence says."""
    before = tree(root)
    code = subprocess.run(command, cwd=root, check=False).returncode
    found = differences(before, tree(root))
    if found:
        rest = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        print(f"The tree is not as it was before {command[0]}: {', '.join(found[:MOST_NAMED])}{rest}.", file=sys.stderr)
    return code or bool(found)


def main(command: list[str]) -> int:
    """`run_cleanly` in the project's folder; prints the time that the command and its children took."""
    begin = time.monotonic()
    code = run_cleanly(Path(__file__).resolve().parents[2], command)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{time.monotonic() - begin:.0f} s, {children.ru_utime + children.ru_stime:.0f} s of processor time.")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
