"""Build libpoplar and what goes with it: `python native/build.py FOLDER`, or `make cpp`.

FOLDER/lib gets one library, libpoplar.so, and links to it under the names of the others, so that a program has one
interpreter and one FLOAT whatever it is linked with. The library is for the Python that builds it: it loads that
libpython and its packages, and says so in one sentence where they are gone. Needs g++, Python's headers and pybind11.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

NATIVE = Path(__file__).resolve().parent
LIBRARIES = ("poputil", "popops", "poplin", "popnn", "poprand", "gcl", "pva", "pvti")
APT = "apt-get install -y python3-dev g++"


def main(folder: Path) -> int:
    """Build into a folder; 1 after one sentence where something is missing or does not compile."""
    trouble = missing()
    if trouble is not None:
        print(f"make cpp: {trouble}", file=sys.stderr)
        return 1
    sys.path.insert(0, str(NATIVE))
    import generate

    objects, generated, libraries = (folder / name for name in ("objects", "generated", "lib"))
    for path in (objects, generated, libraries):
        path.mkdir(parents=True, exist_ok=True)
    sources = [*sorted((NATIVE / "src").glob("*.cpp")), *generate.write(NATIVE / "include", generated)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        compiled = list(pool.map(lambda source: compile_source(source, objects, generated), sources))
    if not all(compiled):
        return 1
    link([objects / f"{source.stem}.o" for source in sources], libraries)
    print(f"The libraries are in {libraries}; 'source enable.sh' sets the paths.")
    return 0


def missing() -> str | None:
    """A sentence on what the machine lacks, or None."""
    if sys.platform != "linux":
        return f"C++ programs need Linux with libstdc++; this is {sys.platform}."
    if shutil.which(compiler()) is None:
        return f"the compiler '{compiler()}' is missing; on Debian: {APT}."
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return f"Python's headers are missing; on Debian: {APT}."
    if not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        return f"{sys.executable} has no shared libpython, which a C++ program loads; use a Python built with it."
    return None


def compiler() -> str:
    return os.environ.get("CXX", "g++")


def compile_source(source: Path, objects: Path, generated: Path) -> bool:
    """Compile one source unless its object is newer than it and every header."""
    target = objects / f"{source.stem}.o"
    headers = [*(NATIVE / "include").rglob("*.hpp"), *(NATIVE / "src").glob("*.hpp"), *generated.glob("*.hpp")]
    if target.exists() and target.stat().st_mtime > max(path.stat().st_mtime for path in (source, *headers)):
        return True
    done = subprocess.run([compiler(), *flags(generated), "-c", str(source), "-o", str(target)], check=False)
    return done.returncode == 0


def flags(generated: Path) -> list[str]:
    import pybind11

    return [
        *("-std=c++17", "-O1", "-fPIC", "-Wall", "-Wextra", "-Wno-attributes"),
        *(f"-I{path}" for path in (NATIVE / "include", NATIVE / "src", generated)),
        *("-isystem", sysconfig.get_path("include"), "-isystem", pybind11.get_include()),
        f'-DPOPVISION_PYTHON="{sys.executable}"',
    ]


def link(objects: list[Path], libraries: Path) -> None:
    """libpoplar.so, written beside its place and renamed: a running program keeps the old one."""
    library, new = libraries / "libpoplar.so", libraries / "libpoplar.so.new"
    python = sysconfig.get_config_var("LIBDIR")
    name = sysconfig.get_config_var("LDLIBRARY").removeprefix("lib").removesuffix(".so")
    subprocess.run(
        [
            *(compiler(), "-shared", "-o", str(new), *map(str, objects)),
            *("-Wl,-soname,libpoplar.so", "-Wl,-z,defs", f"-Wl,-rpath,{python}"),
            *(f"-L{python}", f"-l{name}", "-ldl", "-lpthread"),
        ],
        check=True,
    )
    new.rename(library)
    for other in LIBRARIES:
        path = libraries / f"lib{other}.so"
        path.unlink(missing_ok=True)
        path.symlink_to("libpoplar.so")


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
