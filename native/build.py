"""Build libpoplar and what goes with it: `python native/build.py FOLDER`, `make cpp` or `popvision cpp build`.

FOLDER/lib gets one library, libpoplar.so, and links to it under the names of the others, so that a program has one
interpreter and one FLOAT whatever it is linked with. The library is for the Python that builds it: it loads that
libpython and its packages, and says so in one sentence where they are gone. Needs g++, Python's headers and pybind11.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

NATIVE = Path(__file__).resolve().parent
LIBRARIES = ("poputil", "popops", "poplin", "popnn", "poprand", "gcl", "popsparse", "pva", "pvti")
APT = "apt-get install -y python3-dev g++"


def main(folder: Path) -> int:
    """Build into a folder; 1 after one sentence where something is missing or does not compile."""
    trouble = missing()
    if trouble is not None:
        print(f"C++ programs: {trouble}", file=sys.stderr)
        return 1
    sys.path.insert(0, str(NATIVE))
    import generate

    objects, generated, libraries = (folder / name for name in ("objects", "generated", "lib"))
    for path in (objects, generated, libraries):
        path.mkdir(parents=True, exist_ok=True)
    sources = [*sorted((NATIVE / "src").glob("*.cpp")), *generate.write(NATIVE / "include", generated)]
    generate.write_changed(generated / "settings.txt", settings(generated))
    if not compile_sources(sources, objects, generated):
        return 1
    link([objects / f"{source.stem}.o" for source in sources], libraries)
    for name in ("poplar", *LIBRARIES):
        write_package(name, libraries)
    print(f"The libraries of C++ programs are in {libraries}.")
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
    if importlib.util.find_spec("pybind11") is None:
        return "pybind11 is missing; pip install 'popvision[cpp]' brings it."
    return None


def compiler() -> str:
    return os.environ.get("CXX", "g++")


def compile_sources(sources: list[Path], objects: Path, generated: Path) -> bool:
    """Compile sources whose objects are not newer than they, what they include and a change of the settings."""
    targets = {source: objects / f"{source.stem}.o" for source in sources}
    settings_file = generated / "settings.txt"
    old = [source for source, target in targets.items() if is_old(target, [source, settings_file])]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return all(list(pool.map(lambda source: compile_source(source, targets[source], generated), old)))


def is_old(target: Path, inputs: list[Path]) -> bool:
    """Whether an object is missing, or older than one of the inputs or a file that the compiler noted as included."""
    noted = target.with_suffix(".d")
    if not target.exists() or not noted.exists():
        return True
    included = [Path(word) for word in noted.read_text().partition(":")[2].replace("\\\n", " ").split()]
    compiled = target.stat().st_mtime
    return any(not path.exists() or path.stat().st_mtime >= compiled for path in [*inputs, *included])


def compile_source(source: Path, target: Path, generated: Path) -> bool:
    done = subprocess.run([compiler(), *flags(generated), "-MMD", "-c", str(source), "-o", str(target)], check=False)
    return done.returncode == 0


def settings(generated: Path) -> str:
    """What objects depend on beside sources: the compiler, its flags and the Python that the library is for."""
    return "\n".join([compiler(), *flags(generated), sys.version])


def flags(generated: Path) -> list[str]:
    import pybind11

    return [
        *("-std=c++17", "-O1", "-fPIC", "-Wall", "-Wextra", "-Wno-attributes"),
        *(f"-I{path}" for path in (NATIVE / "include", NATIVE / "src", generated)),
        *("-isystem", sysconfig.get_path("include"), "-isystem", pybind11.get_include()),
        f'-DPOPVISION_PYTHON="{sys.executable}"',
    ]


def link(objects: list[Path], libraries: Path) -> None:
    """libpoplar.so, written beside its place and renamed: a running program keeps the old one. Where the loader has no
    libpython, it takes the one below `missing`, which says what to do."""
    library, new = libraries / "libpoplar.so", libraries / "libpoplar.so.new"
    python = sysconfig.get_config_var("LIBDIR")
    name = sysconfig.get_config_var("LDLIBRARY").removeprefix("lib").removesuffix(".so")
    subprocess.run(
        [
            *(compiler(), "-shared", "-o", str(new), *map(str, objects)),
            *("-Wl,-soname,libpoplar.so", "-Wl,-z,defs", f"-Wl,-rpath,{python}:$ORIGIN/missing"),
            *(f"-L{python}", f"-l{name}", "-ldl", "-lpthread"),
        ],
        check=True,
    )
    stand_in(new, libraries / "missing")
    new.rename(library)
    for other in LIBRARIES:
        path = libraries / f"lib{other}.so"
        path.unlink(missing_ok=True)
        path.symlink_to("libpoplar.so")


def write_package(name: str, libraries: Path) -> None:
    """What find_package of CMake looks for: a target of the library's name."""
    folder = libraries / "cmake" / name
    folder.mkdir(parents=True, exist_ok=True)
    includes = ";".join(str(path) for path in include_folders())
    (folder / f"{name}-config.cmake").write_text(
        f"if(NOT TARGET {name})\n"
        f"  add_library({name} SHARED IMPORTED)\n"
        f"  set_target_properties({name} PROPERTIES\n"
        f'    IMPORTED_LOCATION "{(libraries / f"lib{name}.so").absolute()}"\n'
        f'    INTERFACE_INCLUDE_DIRECTORIES "{includes}")\n'
        "endif()\n",
        encoding="utf-8",
    )


def include_folders() -> tuple[Path, Path]:
    """The headers of programs, and those that codelets include too."""
    return NATIVE / "include", codelet_headers()


def codelet_headers() -> Path:
    """In a checkout beside native/, in a wheel beside the package that holds it."""
    places = [root / "simulator" / "codelets" / "include" for root in (NATIVE.parent, NATIVE.parents[1])]
    return next(path for path in places if path.is_dir())


def stand_in(library: Path, folder: Path) -> None:
    """A library with libpython's name and the names that ours needs of it: loaded, it says that Python is gone."""
    folder.mkdir(exist_ok=True)
    listed = subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True)
    names = {line.split()[-1] for line in listed.stdout.splitlines()}
    needed = sorted(name for name in names if name.startswith(("Py", "_Py")))
    sentence = f"libpoplar: the Python it was built with, {sys.executable}, is gone; run 'make cpp' again."
    source = [
        "#include <stdio.h>\n#include <stdlib.h>\n",
        f'__attribute__((constructor)) static void say(void) {{ fputs("{sentence}\\n", stderr); _Exit(1); }}\n',
        *(f"char {name}[8];\n" for name in needed),
    ]
    target = folder / sysconfig.get_config_var("INSTSONAME")
    subprocess.run(
        [compiler(), "-x", "c", "-shared", "-fPIC", f"-Wl,-soname,{target.name}", "-o", str(target), "-"],
        input="".join(source),
        text=True,
        check=True,
    )


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
