"""Column definitions of the memory page's tables, from the names of their frames' columns."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.components import Column
from webapp.components.difference import difference_columns

_TEXT = {"Compute set", "Vertex type", "Exchange", "Variable"}
_COUNTS = {"Id", "Programs", "Program"}
_HELP = {
    "State": "Instances x bytes of one instance's state",
    "Code": "Bytes, once per tile that holds it; a dash where the size is not known",
    "Received": "Bytes received in one execution",
    "Sent": "Bytes sent in one execution, a multicast once",
    "Programs": "Programs that run the compute set",
    "Program": "Id of the program; of a compute set the first that runs it",
}


#: Ends of columns that stand behind the one they belong to.
_DERIVED = ("_target", "_diff", "_rel", "_change")


def table_columns(names: Sequence[str], comparing: bool) -> list[Column]:
    """Columns of a frame of `memory_frames.table_frame`, whose columns are `names`."""
    figures = [name for name in names if ", " in name and not name.endswith(_DERIVED)]
    parts = [_split(name) for name in figures]
    order = list(dict.fromkeys(figure for figure, _ in parts))
    labels = list(dict.fromkeys(label for _, label in parts))
    several = len(labels) > 1
    plain = [name for name in names if ", " not in name]
    plain.sort(key=lambda name: name == "In")
    found = [_plain(name, several or comparing) for name in plain]
    for _, name in sorted(zip(parts, figures, strict=True), key=lambda each: order.index(each[0][0])):
        figure, label = _split(name)
        if name.endswith("_source"):
            found += _compared(name.removesuffix("_source"), several)
            continue
        found.append(_figure(name, figure, label, several))
        if f"{name}_change" in names:
            found.append(_change(name, figure, label, labels[0]))
    return found


def _split(name: str) -> tuple[str, str]:
    figure, _, label = name.partition(", ")
    for end in ("_source", *_DERIVED):
        label = label.removesuffix(end)
    return figure, label


def _kind(figure: str) -> str:
    return "integer" if figure in ("Vertices", "Instances", "Programs") else "bytes"


def _plain(name: str, many: bool) -> Column:
    if name in ("Kind", "Type"):
        return Column(name, name, width=130)
    if name == "Live":
        return Column(name, name, width=90)
    if name == "In":
        return Column(name, "In", width=90, help="The report that has the row: both, source or target alone")
    if name in _TEXT:
        return Column(name, name, width=280) if many else Column(name, name, flex=3)
    if name in _COUNTS:
        return Column(name, name, "integer", help=_HELP.get(name, ""), width=90)
    return Column(name, name, "bytes", help=_HELP.get(name, ""), width=110)


def _figure(name: str, figure: str, label: str, several: bool) -> Column:
    kind = _kind(figure)
    if not several:
        return Column(name, f"{figure} on {label}", kind, help=_HELP.get(figure, ""), width=170)
    return Column(name, label, kind, help=_HELP.get(figure, ""), width=105, group=figure)


def _change(name: str, figure: str, label: str, first: str) -> Column:
    kind = "signed_bytes" if _kind(figure) == "bytes" else "signed"
    short = label.removeprefix("tile ").removeprefix("IPU ")
    title = f"{short} − {first.removeprefix('tile ').removeprefix('IPU ')}"
    return Column(
        f"{name}_change", title, kind, help=f"{figure} on {label} less that on {first}", width=105, group=figure
    )


def _compared(name: str, several: bool) -> list[Column]:
    figure, label = _split(name)
    heading = f"{figure}, {label}" if several and label else figure
    return difference_columns(name, figure, _kind(figure), group=heading, help=_HELP.get(figure, ""))
