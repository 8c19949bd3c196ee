"""poputil's exception."""

from __future__ import annotations

from simulator.base.errors import poplar_error


class poplibs_error(poplar_error):
    """A library function got an argument that it does not accept."""
