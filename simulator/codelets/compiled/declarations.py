"""Find the classes that a preprocessed source declares, and the templates that it instantiates.

The compiler describes a class (`debug_entries`) only if something uses it, so its name must be known first. The line
marks of the preprocessor tell the user's own text, which alone is scanned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from simulator.codelets.compiled.source import lines_of

_TOKEN = re.compile(
    r"""[A-Za-z_]\w*|::|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[0-9][\w.']*|[^\s\w]""",
)
_OPEN = {"(": ")", "{": "}", "[": "]", "<": ">"}


@dataclass
class ClassHead:
    """A class with a base: a candidate for a vertex type."""

    name: str  #: qualified; of a specialisation, with its arguments
    template: bool
    constraints: tuple[str, ...]
    has_compute: bool = False  #: `compute` has its code within the class
    external: bool = False  #: it declares isExternalCodelet


@dataclass
class Declared:
    classes: dict[str, ClassHead] = field(default_factory=dict)
    #: (qualified name of the template, arguments as written, enclosing namespace)
    instances: list[tuple[str, str, str]] = field(default_factory=list)


def declared_in(text: str) -> Declared:
    """Classes and instantiations of the user's text."""
    scanner = _Scanner([*_tokens(text)])
    scanner.run()
    return scanner.declared


def _tokens(text: str) -> Iterator[str]:
    for line, is_users in lines_of(text):
        if is_users and not line.lstrip().startswith("#"):
            yield from _TOKEN.findall(line)


class _Scanner:
    """Walks the tokens with a stack of the owners of open braces: (name or "", head of a class or None)."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0
        self.stack: list[tuple[str, ClassHead | None]] = []
        self.declared = Declared()

    def run(self) -> None:
        template = False
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token == "template":
                self.at += 1
                if self._peek() == "<":
                    template = bool(self._skip())  # a full specialisation is a class
                elif self._peek() in ("class", "struct"):
                    self._instance()
                continue
            if token == "namespace":
                self._namespace()
            elif token == "enum":
                self.at += 2 if self._peek(1) in ("class", "struct") else 1
            elif token in ("class", "struct"):
                self._class(template)
                template = False
            elif token == "{":
                self.stack.append(("", None))
                self.at += 1
            elif token == "}":
                if self.stack:
                    self.stack.pop()
                self.at += 1
            else:
                self._note_member(token)
                self.at += 1
            if token in (";", "{", "}"):
                template = False

    def _peek(self, ahead: int = 0) -> str:
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ""

    def _skip(self) -> list[str]:
        """Skip a balanced bracket; returns its contents."""
        begin = self.at
        close = [_OPEN[self.tokens[self.at]]]
        self.at += 1
        while close and self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token == close[-1]:
                close.pop()
            elif token in ("(", "{", "[") or (token == "<" and close[-1] == ">"):
                close.append(_OPEN[token])
            self.at += 1
        return self.tokens[begin + 1 : self.at - 1]

    def _scope(self) -> str:
        return "::".join(name for name, _ in self.stack if name)

    def _namespace(self) -> None:
        self.at += 1
        name = ""
        while self._peek() not in ("{", ";", "=", ""):
            name += "" if self._peek() == "inline" else self._peek()
            self.at += 1
        if self._peek() == "{":
            self.stack.append((name, None))
            self.at += 1

    def _name(self) -> tuple[str, str, list[str]]:
        """(name, arguments, attributes) behind `class`."""
        self.at += 1
        attributes: list[str] = []
        while True:
            if self._peek() == "[" and self._peek(1) == "[":
                attributes += self._skip()
            elif self._peek() in ("__attribute__", "alignas", "__declspec"):
                self.at += 1
                if self._peek() == "(":
                    self._skip()
            else:
                break
        name, arguments = "", ""
        while re.fullmatch(r"[A-Za-z_]\w*|::", self._peek()) and self._peek() != "final":
            name += self._peek()
            self.at += 1
        if name and self._peek() == "<":
            arguments = _joined(self._skip())
        return name, arguments, attributes

    def _instance(self) -> None:
        name, arguments, _ = self._name()
        if name and arguments and self._peek() == ";":
            self.declared.instances.append((name, arguments, self._scope()))

    def _class(self, template: bool) -> None:
        name, arguments, attributes = self._name()
        if self._peek() == "final":
            self.at += 1
        based = self._peek() == ":"
        while self._peek() not in ("{", ";", ")", "(", ",", ">", "=", "") or (based and self._peek() != "{"):
            if not self._peek():
                return
            if self._peek() in ("<", "("):
                self._skip()
            else:
                self.at += 1
        if self._peek() != "{":
            return
        head = None
        if name:
            scope = self._scope()
            qualified = f"{scope}::{name}" if scope else name
            if arguments and not template:
                qualified += f"<{arguments}>"
            head = ClassHead(qualified, template, _constraints(attributes))
            if based and not any(name_ == "" for name_, _ in self.stack):
                if arguments and template:  # a partial specialisation stands for its template, where that has no body
                    self.declared.classes.setdefault(qualified, head)
                else:
                    self.declared.classes[qualified] = head
        self.stack.append((name, head))
        self.at += 1

    def _note_member(self, token: str) -> None:
        """Note whether the class of this body has the code of `compute`, and whether it is external."""
        head = self.stack[-1][1] if self.stack else None
        if head is None:
            return
        if token == "isExternalCodelet":
            head.external = True
        elif token == "compute" and self._peek(1) == "(":
            self.at += 1
            self._skip()
            while self._peek() not in ("{", ";", "="):
                self.at += 1
            head.has_compute = self._peek() == "{"
            self.at -= 1


def _joined(tokens: list[str]) -> str:
    """Tokens as text, a blank between two words."""
    text = ""
    for token in tokens:
        text += f" {token}" if text and re.match(r"\w", token) and re.match(r"\w", text[-1]) else token
    return text


def _constraints(attributes: list[str]) -> tuple[str, ...]:
    """The strings of poplar::constraint among attributes."""
    strings, inside = [], False
    for token in attributes:
        if token == "constraint":
            inside = True
        elif token == ")":
            inside = False
        elif inside and token.startswith('"'):
            strings.append(token[1:-1])
    return tuple(strings)
