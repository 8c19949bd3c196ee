"""Sources of codelets: files and streams, their languages, and their preprocessed text."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
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
#: The tiles' builtin functions are overloaded, which the compiler of the host refuses for names of builtin functions.
BUILTINS = ("__builtin_ipu_", "popvision_ipu_")
#: A line mark of the preprocessor; flag 3 stands at text of system headers.
_MARK = re.compile(r'# (\d+) "((?:[^"\\]|\\.)*)"((?: \d)*)')
#: A string as C++ writes it, and an asm statement with its strings, which the compiler joins.
_STRING = r'(?:R"[^(]*\((?:.|\n)*?\)[^"]*"|"(?:[^"\\]|\\.)*")'
_ASSEMBLY = re.compile(
    rf"\b(?:asm|__asm__|__asm)\b\s*(?:(?:volatile|__volatile__|goto|inline)\s*)*\(\s*({_STRING}(?:\s*{_STRING})*)"
)
_NO_INSTRUCTION = re.compile(r"\s*(?:$|\.|[\w.$]+:\s*$)")
#: A cast that popc lets take const from what a field that is only read points to.
_CAST = re.compile(r"\breinterpret_cast\b")
_CAST_OF_HOST = "::poplar::host::reinterpreted"
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


def preprocessed_file(
    path: Path, type_: CodeletFileType, flags: Sequence[str], architecture: str, for_ipu: bool = False
) -> Preprocessed:
    """`for_ipu`: with __IPU__ defined, as popc has it for hardware. Raises CompilationFailed."""
    return _preprocessed(path, str(path), type_, flags, architecture, for_ipu)


def preprocessed_text(
    text: str, name: str, type_: CodeletFileType, flags: Sequence[str], architecture: str, for_ipu: bool = False
) -> Preprocessed:
    """The text of a stream; includes are searched from the working directory."""
    language = LANGUAGES[type_][0]
    with tempfile.TemporaryDirectory(prefix="popvision_codelet_") as folder:
        path = Path(folder) / ("codelet.cpp" if language == "c++" else "codelet.c")
        path.write_text(f'#line 1 "{name}"\n{text}', encoding="utf-8", errors="surrogateescape")
        return _preprocessed(path, name, type_, [*flags, "-iquote", "."], architecture, for_ipu)


def _preprocessed(
    path: Path, name: str, type_: CodeletFileType, flags: Sequence[str], architecture: str, for_ipu: bool
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
                *(["-D__IPU__=1"] if for_ipu else []),
                "-isystem",
                str(INCLUDE),
                str(path),
                "-o",
                str(out),
            ]
        )
        if code != 0:
            raise CompilationFailed(name, messages)
        text = _for_host(out.read_text(encoding="utf-8", errors="surrogateescape"))
    refuse_inline_assembly(text)
    return Preprocessed(name, language, text.replace(str(path), name), tuple(flags))


def lines_of(text: str) -> Iterator[tuple[str, bool]]:
    """Lines of preprocessed text, with whether each is the user's own."""
    is_users = True
    for line in text.splitlines():
        mark = _MARK.match(line)
        if mark:
            is_users = "3" not in mark[3].split()
        yield line, is_users and not mark


def users_text(text: str) -> str:
    """The user's own lines of preprocessed text, without marks."""
    return "\n".join(line for line, is_users in lines_of(text) if is_users and line.strip())


def refuse_inline_assembly(text: str) -> None:
    """Raises CompilationFailed for instructions among the user's lines: they are the IPU's, which nothing here runs. An
    empty string, a barrier for the compiler, is none."""
    lines = text.splitlines()
    place, number, is_users = "", 0, True
    for k, line in enumerate(lines):
        mark = _MARK.match(line)
        if mark:
            place, number, is_users = mark[2], int(mark[1]), "3" not in mark[3].split()
            continue
        if is_users and "asm" in line:
            statement = _ASSEMBLY.search("\n".join(lines[k : k + 9]))
            begins_here = statement is not None and statement.start() < len(line)
            instruction = _first_instruction(statement[1]) if statement is not None and begins_here else ""
            if instruction:
                sentence = f"inline assembly '{instruction}' is for the IPU's own processor"
                raise CompilationFailed(place, f"{place}:{number}: error: {sentence}\n")
        number += 1


def _first_instruction(strings: str) -> str:
    """The first instruction of the strings of an asm statement; directives and labels are none."""
    texts = [
        text.partition("(")[2].rpartition(")")[0] if text.startswith("R") else text[1:-1].replace("\\n", "\n")
        for text in re.findall(_STRING, strings)
    ]
    lines = "".join(texts).splitlines()
    return next((" ".join(line.split()) for line in lines if not _NO_INSTRUCTION.match(line)), "")


def _for_host(text: str) -> str:
    """What popc compiles as the compiler of the host compiles it."""
    text = _CONTEXT.sub(_blank, text).replace(*BUILTINS)
    if _CAST_OF_HOST.rpartition("::")[2] not in text:  # without <poplar/Vertex.hpp>
        return text
    return "\n".join(_CAST.sub(_CAST_OF_HOST, line) if users else line for line, users in lines_of(text)) + "\n"


def _blank(match: re.Match[str]) -> str:
    return " " * len(match.group())


class CompilationFailed(graph_program_compilation_error):
    """A source does not compile; `output` is what the compiler printed, `first` its first error."""

    def __init__(self, name: str, output: str) -> None:
        wrong = [line for line in output.splitlines() if "error:" in line.lower()]
        first = (wrong or output.splitlines() or ["the compiler says nothing"])[0].strip()
        super().__init__(f"Codelet source '{name}' does not compile: {first}{_missing_header(first)}")
        self.name, self.first, self.output = name, first, output


#: Names that a header of the SDK declares, which <poplar/Vertex.hpp> does not bring.
_HEADERS = {
    r"(?:float|half|u?int|u?short|u?char|long|longlong)[248]": "<ipudef.h>",
    r"rptsize_t": "<ipudef.h>",
    r"__builtin_ipu_\w+": "<ipu_builtins.h>",
    r"(?:CSR_W_|CTXT_)\w+": "<tilearch.h>",
    r"ipu": "<ipu_vector_math> or <ipu_memory_intrinsics>",
}


def _missing_header(error: str) -> str:
    """What to include, where an error names something that a header of the SDK declares."""
    for quoted in re.findall(r"'([^']*)'", error):
        header = next((header for name, header in _HEADERS.items() if re.fullmatch(name, quoted)), "")
        if header and "no member" not in error and "attribute error" not in error:
            return f"; include {header}, which declares '{quoted}'"
    return ""


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
