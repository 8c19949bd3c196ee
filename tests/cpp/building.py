"""A user's shell for C++ programs: it has sourced enable.sh."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIBRARIES = "-lpoplar -lpopops -lpoplin -lpoputil"


class Shell:
    """Commands in a folder, each in a new shell."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, command: str, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
        """What a command printed; it has to end with `code`."""
        settings = "".join(f"export {name}='{value}'\n" for name, value in environment.items())
        done = subprocess.run(
            ["bash", "-c", f"source {ROOT}/enable.sh\n{settings}{command}"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def build(self, program: str, options: str = "-std=c++11 -Wall -Wextra -Werror") -> None:
        """Build tests/cpp/programs/PROGRAM.cpp into ./PROGRAM."""
        self.run(f"g++ {options} {HERE}/programs/{program}.cpp {LIBRARIES} -o {program}")

    def printed(self, program: str, **environment: str) -> str:
        """What a program prints, built and run."""
        self.build(program)
        return self.run(f"./{program}", **environment).stdout


def has_boost(compiler: str) -> bool:
    """Whether a compiler finds the header of boost's program_options."""
    if shutil.which(compiler) is None:
        return False
    command = [compiler, "-E", "-x", "c++", "-", "-o", "/dev/null"]
    header = "#include <boost/program_options.hpp>\n"
    return subprocess.run(command, input=header, text=True, capture_output=True, check=False).returncode == 0
