"""`make stubs`: does some test notice when a public function does nothing?

public_names.csv (tests/poplar) lists every public name and overload with the test that claims it; each body, and each
overload, is replaced by a no-op in turn and its test must turn red.
"""
