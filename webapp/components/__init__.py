"""Components that views share."""

from webapp.components.difference import (
    add_difference,
    difference_columns,
    difference_mark,
    difference_rows,
    signed_text,
)
from webapp.components.figure import figure, plain, themed
from webapp.components.icon import icon
from webapp.components.long_table import (
    long_table,
    register_export,
    register_pair_rows,
    register_row_selection,
    register_rows,
)
from webapp.components.message import (
    empty_hint,
    loading,
    message_page,
    missing_note,
    noted,
    unavailable,
)
from webapp.components.page_parts import (
    TabSet,
    page_of_halves,
    part_stores,
    register_part,
    register_row_choice,
    register_tabs,
)
from webapp.components.shortcuts import view_shortcuts
from webapp.components.split import split
from webapp.components.table import Column, data_table
from webapp.components.tabs import Tab, tabs
from webapp.components.toolbar import (
    group,
    help_text,
    icon_button,
    options_menu,
    popover,
    search_box,
    segments,
    select,
    spacer,
    toggle,
    toolbar,
)

__all__ = [
    "Column",
    "Tab",
    "TabSet",
    "add_difference",
    "data_table",
    "difference_columns",
    "difference_mark",
    "difference_rows",
    "empty_hint",
    "figure",
    "group",
    "help_text",
    "icon",
    "icon_button",
    "loading",
    "long_table",
    "message_page",
    "missing_note",
    "noted",
    "options_menu",
    "page_of_halves",
    "part_stores",
    "plain",
    "popover",
    "register_export",
    "register_pair_rows",
    "register_part",
    "register_row_choice",
    "register_row_selection",
    "register_rows",
    "register_tabs",
    "search_box",
    "segments",
    "select",
    "signed_text",
    "spacer",
    "split",
    "tabs",
    "themed",
    "toggle",
    "toolbar",
    "unavailable",
    "view_shortcuts",
]
