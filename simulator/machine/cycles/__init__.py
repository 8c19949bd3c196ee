"""Cycle formulas of PopLibs' vertices: one module per family, pure functions over arrays.

Worker formulas give *thread cycles* (one thread issues once in six tile cycles); MultiVertex and supervisor formulas
give *tile cycles*. Every number comes from PopLibs' published cycle estimators; each docstring writes its formula out.
The formulas are PopLibs' own estimates: hardware adds a launch overhead that is not part of them.
"""
