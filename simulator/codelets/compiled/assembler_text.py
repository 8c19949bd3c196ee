"""What an assembler does with text before it knows an instruction: macros, and the values of constant expressions."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MACRO = re.compile(r"(?m)^[ \t]*\.macro[ \t]+(\w+)([^\n]*)\n((?:.|\n)*?)^[ \t]*\.endm[^\n]*$")
#: How deep macros may use each other.
_DEPTH = 20
#: A parameter in the text of a macro; an empty pair of parentheses ends its name.
_PARAMETER = re.compile(r"\\(\w+)(?:\\\(\))?")


@dataclass(frozen=True)
class _Macro:
    """A macro: the names of its parameters, the last of which may take all that is left, and its text."""

    parameters: list[str]
    takes_rest: bool
    text: str

    def expanded(self, arguments: str) -> str:
        most = len(self.parameters) - 1 if self.takes_rest else -1
        parts = [part.strip() for part in arguments.split(",", most) if part.strip()]
        values = dict(zip(self.parameters, parts, strict=False))
        return _PARAMETER.sub(lambda parameter: values.get(parameter[1], parameter[0]), self.text)

    def expanded_in(self, template: str, name: str) -> str:
        """The template with the text of this macro in place of its uses."""
        use = re.compile(rf"(?m)(?<![\w.$%]){re.escape(name)}(?![\w.])[ \t]*([^\n;}}]*)")
        return use.sub(lambda call: self.expanded(call[1]), template)


class Macros:
    """The macros of a source, which asm statements define for those behind them."""

    def __init__(self) -> None:
        self._known: dict[str, _Macro] = {}

    def expanded(self, template: str) -> str:
        """A template without definitions of macros and with their text where they are used."""
        while definition := _MACRO.search(template):
            names = [name for name in re.split(r"[\s,]+", definition[2].strip()) if name]
            parameters = [re.split(r"[:=]", name)[0] for name in names]
            takes_rest = any(name.endswith(":vararg") for name in names)
            self._known[definition[1]] = _Macro(parameters, takes_rest, definition[3])
            template = template[: definition.start()] + template[definition.end() :]
        template = re.sub(r"[ \t]*\.purgem[^\n]*", "", template)
        for _ in range(_DEPTH):
            before = template
            for name, macro in self._known.items():
                template = macro.expanded_in(template, name)
            if template == before:
                break
        return template


def constant(text: str) -> int:
    """The value of +, -, *, / and parentheses over integers; / truncates. Raises ValueError for what is none."""
    tokens = re.findall(r"\d+|[-+*/()]", text)
    value, rest = _sum(tokens)
    if rest:
        raise ValueError(text)
    return value


def _sum(tokens: list[str]) -> tuple[int, list[str]]:
    value, tokens = _product(tokens)
    while tokens and tokens[0] in "+-":
        sign = 1 if tokens[0] == "+" else -1
        more, tokens = _product(tokens[1:])
        value += sign * more
    return value, tokens


def _product(tokens: list[str]) -> tuple[int, list[str]]:
    value, tokens = _atom(tokens)
    while tokens and tokens[0] in "*/":
        operator = tokens[0]
        more, tokens = _atom(tokens[1:])
        if operator == "/" and more == 0:
            raise ValueError("a division by 0")
        value = value * more if operator == "*" else abs(value) // abs(more) * (1 if value * more >= 0 else -1)
    return value, tokens


def _atom(tokens: list[str]) -> tuple[int, list[str]]:
    if not tokens:
        raise ValueError("an expression that ends early")
    if tokens[0] == "(":
        value, tokens = _sum(tokens[1:])
        if not tokens or tokens[0] != ")":
            raise ValueError("a parenthesis without its end")
        return value, tokens[1:]
    if tokens[0] in "+-":
        value, rest = _atom(tokens[1:])
        return (value if tokens[0] == "+" else -value), rest
    return int(tokens[0]), tokens[1:]
