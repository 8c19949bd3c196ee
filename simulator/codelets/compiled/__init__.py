"""Codelets in C and C++: compiled for the host, run in a process of their own, costed by counting what they execute.

`source` (what addCodelets was given) -> `unit` (preprocessed, scanned, compiled; its vertex types from debug
information) -> `linking` (all units of a graph in one program) -> `session` (the program as a process, sharing the
arena) and `rows` (vertices as rows of structs). `counting` runs the same units with counters in their basic blocks.
"""
