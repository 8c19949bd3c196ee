"""Seeded reports of any size through the public writer: `python -m popvision.formats.generate OUT`.

For benchmarks and tests: they describe no real program and say so (meta: "generated": true). All laws of a report
hold: on every tile a step starts where the one before ended, durations plus tail are the run, bytes add up.
"""

from popvision.formats.generate.report import Size, generate

__all__ = ["Size", "generate"]
