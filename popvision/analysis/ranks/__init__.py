"""Ranks of one run: reports of the same program from the tasks of one job step, compared."""
