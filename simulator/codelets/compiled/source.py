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
from simulator.codelets.compiled.assembler_text import Macros
from simulator.codelets.compiled.host_compiler import INCLUDE, check_flags, compiler
from simulator.codelets.compiled.inline_assembly import NotCoveredError, plain_variables, statements, translated

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
_BUILTIN, _OF_BUILTINS = "__builtin_ipu_", "ipu_builtins.h"
#: The tiles' builtin functions are overloaded, which the compiler of the host refuses for names of builtin functions.
BUILTINS = (_BUILTIN, "popvision_ipu_")
#: A line mark of the preprocessor; flag 3 stands at text of system headers.
_MARK = re.compile(r'# (\d+) "((?:[^"\\]|\\.)*)"((?: \d)*)')
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
    macros = [f"-D__IPU_ARCH_VERSION__={_ARCHITECTURE[architecture]}", *(["-D__IPU__=1"] if for_ipu else [])]
    text = _included(path, name, language, [*flags, *macros])
    if _BUILTIN in text and _OF_BUILTINS not in text:  # popc knows them without a header
        text = _included(path, name, language, [*flags, *macros, "-include", str(INCLUDE / _OF_BUILTINS)])
    text = _for_host(without_assembly(text, for_ipu and "namespace tile" in text))
    # Addresses of the data have 32 bits, as on a tile, so that casts of them to unsigned int keep them.
    permitted = ("-fpermissive",) if for_ipu and language == "c++" else ()
    return Preprocessed(name, language, text.replace(str(path), name), (*flags, *permitted))


def _included(path: Path, name: str, language: str, flags: Sequence[str]) -> str:
    """What the preprocessor makes of a file. Raises CompilationFailed."""
    with tempfile.TemporaryDirectory(prefix="popvision_codelet_") as folder:
        out = Path(folder) / "text"
        own = ["-U_FORTIFY_SOURCE", "-D__NO_INLINE__=1", "-D__POPC__=1", "-isystem", str(INCLUDE)]
        command = ["-E", "-x", language, *DEFAULTS[language], *flags, *own, str(path), "-o", str(out)]
        code, messages = compiler().run(command)
        if code != 0:
            raise CompilationFailed(name, messages)
        return out.read_text(encoding="utf-8", errors="surrogateescape")


def lines_of(text: str) -> Iterator[tuple[str, bool]]:
    """Lines of preprocessed text, with whether each is the user's own. What a macro of a system header leaves in a
    user's file is marked as the header's, but is the user's."""
    is_users, files = True, set[str]()
    for line in text.split("\n"):
        mark = _MARK.match(line)
        if mark:
            is_users = "3" not in mark[3].split() or mark[2] in files
            if is_users:
                files.add(mark[2])
        yield line, is_users and not mark


def users_text(text: str) -> str:
    """The user's own lines of preprocessed text, without marks."""
    return "\n".join(line for line, is_users in lines_of(text) if is_users and line.strip())


def without_assembly(text: str, is_covered: bool) -> str:
    """The text with the user's asm statements as C++ (`is_covered`: on the path for hardware). Raises CompilationFailed
    for the first that cannot be: its instructions are the IPU's. An empty one, a barrier for the compiler, stays."""
    if "asm" not in text:
        return text
    text = plain_variables(text) if is_covered else text
    own = "\n".join(line if users else " " * len(line) for line, users in lines_of(text))
    parts, last, macros = [], 0, Macros()
    for number, (begin, end, sections) in enumerate(statements(own)):
        try:
            made = translated(sections, number, is_covered, macros)
        except NotCoveredError as error:
            place, line = _line_of(text, begin, own[begin:end], error.text)
            sentence = f"inline assembly '{error.text}' is for the IPU's own processor"
            sentence = f"inline assembly '{error.text}' is not covered" if is_covered else sentence
            raise CompilationFailed(place, f"{place}:{line}: error: {sentence}\n") from None
        if made:
            parts += [text[last:begin], made, "\n" * own.count("\n", begin, end)]
            last = end
    return "".join([*parts, text[last:]])


def _line_of(text: str, begin: int, statement: str, instruction: str) -> tuple[str, int]:
    """(file, line) of an instruction in an asm statement."""
    place, number = "", 0
    for line in text[:begin].split("\n"):
        mark = _MARK.match(line)
        place, number = (mark[2], int(mark[1]) - 1) if mark else (place, number + 1)
    name = instruction.split(" ")[0]
    holding = (k for k, line in enumerate(statement.split("\n")) if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", line))
    return place, number + next(holding, 0)


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
        first = _first_error(output.splitlines())
        super().__init__(f"Codelet source '{name}' does not compile: {first}{_missing_header(first)}")
        self.name, self.first, self.output = name, first, output


_INLINED = re.compile(r"\s*inlined from .* at (\S+?)[:,]?$")


def _first_error(lines: list[str]) -> str:
    """The first error, at the user's line where our header refuses a call."""
    number = next((k for k, line in enumerate(lines) if "error:" in line.lower()), -1)
    if number < 0:
        return lines[0].strip() if lines else "the compiler says nothing"
    error = lines[number].strip()
    callers = [found[1] for line in lines[:number] if (found := _INLINED.match(line)) and str(INCLUDE) not in found[1]]
    if error.startswith(str(INCLUDE)) and callers:
        return f"{callers[0]}: {error[error.index('error:') :]}"
    return error


#: Names that a header of the SDK declares, which <poplar/Vertex.hpp> does not bring.
_HEADERS = {
    r"(?:float|half|u?int|u?short|u?char|long|longlong)[248]": "<ipudef.h>",
    r"rptsize_t": "<ipudef.h>",
    r"(?:CSR_W_|CTXT_)\w+": "<tilearch.h>",
    r"ipu": "<ipu_vector_math> or <ipu_memory_intrinsics>",
}


def _missing_header(error: str) -> str:
    """What to include, where an error names something that a header of the SDK declares."""
    for quoted in re.findall(r"'([^']*)'", error):
        if quoted.startswith(_BUILTIN) and "not declared" in error:
            return "; docs/codelets.md lists the built-in functions that are covered"
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
