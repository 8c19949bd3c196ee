"""How a program is written in one line: its type, and its debug name where it has one."""


def program_text(type: str, name: str) -> str:
    """`DoExchange: cs0_a/ExchangePre`, or the type alone."""
    return f"{type}: {name}" if name else type
