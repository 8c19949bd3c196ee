"""`make stubs`: does some test notice when a public function does nothing?

public_names.csv lists every signature of the seeds, claims.csv every other public body of simulator.poplar, each with
the test that claims it; each body, and each overload, is replaced by a no-op in turn and its test must turn red.
"""
