"""Figures of exchanges: bytes, messages, code and cycles per tile."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.arrays import Int32Array, Int64Array


@dataclass(frozen=True)
class Sendings:
    """Row i: tile `src[i]` sends `size[i]` bytes to `receivers[i]` tiles each. Sorted; each (src, receivers) once."""

    src: Int32Array
    receivers: Int32Array
    size: Int64Array


@dataclass(frozen=True)
class Moving:
    """Parts of the cycles of an exchange within an IPU, per tile, in cycles. See `machine.exchange.exchange_cycles`."""

    received: Int32Array
    sent: Int32Array
    nearest: Int32Array
    latest: Int32Array
    instructions: Int32Array


@dataclass(frozen=True)
class Exchange:
    """Figures per tile of the device, and the traffic from tile to tile."""

    rx: Int64Array  #: bytes received
    tx: Int64Array  #: bytes sent, a multicast once
    code: Int64Array  #: bytes of exchange code
    cycles: Int64Array
    sendings: Sendings
    src: Int32Array  #: message i: `size[i]` bytes from tile `src[i]` to tile `dst[i]`
    dst: Int32Array
    size: Int64Array
    rx_fragments: Int64Array  #: fragments received: one sender, consecutive addresses
    moving: Moving | None = None  #: None between IPUs


@dataclass(frozen=True)
class Exchanges:
    """The exchanges of one set of transfers: within IPUs and between them."""

    internal: Exchange | None
    between_ipus: Exchange | None

    def __bool__(self) -> bool:
        return self.internal is not None or self.between_ipus is not None
