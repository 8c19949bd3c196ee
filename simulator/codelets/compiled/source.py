"""Sources of codelets: files and streams, their languages, and their preprocessed text."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.base.errors import file_load_error, graph_object_load_error, graph_program_compilation_error
from simulator.base.types import CodeletFileType
from simulator.codelets.compiled.host_compiler import INCLUDE, check_flags, compiler

_BY_SUFFIX = {
    **dict.fromkeys((".cpp", ".cc", ".cxx", ".c++", ".C"), CodeletFileType.CppSource),
    ".c": CodeletFileType.CSource,
    ".S": CodeletFileType.AsmSource,
    ".s": CodeletFileType.PreprocessedAsmSource,
    **dict.fromkeys((".ll", ".bc"), CodeletFileType.IrSource),
    **dict.fromkeys((".gp", ".o"), CodeletFileType.Object),
}
_REFUSED = {
    CodeletFileType.AsmSource: "is assembly of the IPU",
    CodeletFileType.PreprocessedAsmSource: "is assembly of the IPU",
    CodeletFileType.IrSource: "is LLVM code for the IPU",
}
#: Languages as the compiler's option -x names them; the second for preprocessed text.
LANGUAGES = {CodeletFileType.CppSource: ("c++", "c++-cpp-output"), CodeletFileType.CSource: ("c", "cpp-output")}
#: Flags before the user's.
DEFAULTS = {"c++": ("-std=c++17", "-O3"), "c": ("-std=gnu11", "-O3")}
#: The attribute for the context of a tile that runs a function, which only popc knows; here the class of the vertex
#: determines it.
_CONTEXT = re.compile(r'\btarget\s*\(\s*"(?:supervisor|worker)"\s*\)')
_ARCHITECTURE = {"ipu1": "1", "ipu2": "2", "ipu21": "21"}


@dataclass(frozen=True)
class Preprocessed:
    """The text of one source with everything that it includes: the complete input of the compiler."""

    name: str  #: for messages
    language: str  #: "c++" or "c"
    text: str
    flags: tuple[str, ...]


def file_type(path: Path, given: CodeletFileType) -> CodeletFileType:
    """The type of a codelet file. Raises file_load_error where the suffix tells nothing or the file is not there."""
    type_ = given
    if given is CodeletFileType.Auto:
        by_suffix = _BY_SUFFIX.get(path.suffix)
        if by_suffix is None:
            raise file_load_error(
                f"The type of codelet file '{path}' is not clear from its suffix; pass a CodeletFileType."
            )
        type_ = by_suffix
    refuse_assembly(f"Codelet file '{path}'", type_)
    if not path.is_file():
        raise file_load_error(f"Codelet file '{path}' does not exist.")
    return type_


def refuse_assembly(what: str, type_: CodeletFileType) -> None:
    if type_ in _REFUSED:
        raise graph_program_compilation_error(
            f"{what} {_REFUSED[type_]}, which the simulator cannot run; give it as C or C++ source."
        )


def preprocessed_file(path: Path, type_: CodeletFileType, flags: Sequence[str], architecture: str) -> Preprocessed:
    return _preprocessed(path, str(path), type_, flags, architecture)


def preprocessed_text(
    text: str, name: str, type_: CodeletFileType, flags: Sequence[str], architecture: str
) -> Preprocessed:
    """The text of a stream; includes are searched from the working directory."""
    language = LANGUAGES[type_][0]
    with tempfile.TemporaryDirectory(prefix="popvision_codelet_") as folder:
        path = Path(folder) / ("codelet.cpp" if language == "c++" else "codelet.c")
        path.write_text(f'#line 1 "{name}"\n{text}', encoding="utf-8", errors="surrogateescape")
        return _preprocessed(path, name, type_, [*flags, "-iquote", "."], architecture)


def _preprocessed(
    path: Path, name: str, type_: CodeletFileType, flags: Sequence[str], architecture: str
) -> Preprocessed:
    check_flags(flags)
    language = LANGUAGES[type_][0]
    with tempfile.TemporaryDirectory(prefix="popvision_codelet_") as folder:
        out = Path(folder) / "text"
        code, messages = compiler().run(
            [
                "-E",
                "-x",
                language,
                *DEFAULTS[language],
                *flags,
                "-U_FORTIFY_SOURCE",
                "-D__NO_INLINE__=1",
                "-D__POPC__=1",
                f"-D__IPU_ARCH_VERSION__={_ARCHITECTURE[architecture]}",
                "-isystem",
                str(INCLUDE),
                str(path),
                "-o",
                str(out),
            ]
        )
        if code != 0:
            raise CompilationFailed(name, messages)
        text = _CONTEXT.sub(_blank, out.read_text(encoding="utf-8", errors="surrogateescape"))
    return Preprocessed(name, language, text.replace(str(path), name), tuple(flags))


def _blank(match: re.Match[str]) -> str:
    return " " * len(match.group())


class CompilationFailed(graph_program_compilation_error):
    """A source does not compile; `output` is what the compiler printed."""

    def __init__(self, name: str, output: str) -> None:
        wrong = [line for line in output.splitlines() if "error:" in line]
        first = (wrong or output.splitlines() or ["the compiler says nothing"])[0].strip()
        super().__init__(f"Codelet source '{name}' does not compile: {first}")
        self.output = output


def stream_text(stream: Any) -> str:
    """All text of a text or binary stream; from its beginning if it is seekable, as after writing into it."""
    whole = getattr(stream, "getvalue", None)
    if whole is not None:
        content = whole()
    elif hasattr(stream, "read"):
        content = stream.read()
    else:
        raise graph_object_load_error(f"{stream!r} is not a codelet class, a module, a path or a stream.")
    return content.decode("utf-8", "surrogateescape") if isinstance(content, bytes) else str(content)
