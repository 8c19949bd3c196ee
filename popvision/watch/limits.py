"""Limits of a watched program, and the sentence for each that it breaks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from popvision.sweep.process_tree import descendants, folder_bytes, resident_bytes

_MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """`seconds` of wall time of a run; of all its processes together, resident `memory` bytes and their number; `disk`
    bytes of its private folder, where temporary files go too, and of any one file that it writes elsewhere."""

    seconds: float = 60.0
    memory: int = 8 << 30
    processes: int = 64
    disk: int = 2 << 30

    def broken_by(self, root: int, folder: Path, seconds: float) -> str:
        """One sentence for the limit that the processes below `root` break, "" while they break none."""
        running = descendants(root)
        if len(running) > self.processes:
            return f"The program was stopped: it started more than {self.processes} processes (--processes)."
        if seconds > self.seconds:
            return (
                f"The program was stopped: it ran longer than {self.seconds:g} s (--seconds). Does it wait or loop for "
                "ever?"
            )
        if (resident := resident_bytes(running)) > self.memory:
            return (
                f"The program was stopped: its processes held {resident / _MIB:,.0f} MiB, more than "
                f"{self.memory / _MIB:,.0f} MiB (--memory)."
            )
        if (size := folder_bytes(folder)) > self.disk:
            return (
                f"The program was stopped: its report, output and temporary files took {size / _MIB:,.0f} MiB, more "
                f"than {self.disk / _MIB:,.0f} MiB (--disk)."
            )
        return ""
