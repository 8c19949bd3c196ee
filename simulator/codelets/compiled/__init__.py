"""Codelets in C and C++: compiled for the host, run in a separate process, costed by counting their operations.

`source` (the argument of addCodelets) -> `unit` (preprocessed, scanned, compiled; its vertex types from debug
information) -> `linking` (all units of a graph in one program) -> `session` (the program as a process, sharing the
arena) and `rows` (vertices as rows of structs). `counted_costs` runs the same units with counters in basic blocks.
"""
