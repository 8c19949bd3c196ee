"""popdist is not simulated."""

raise ImportError(
    "popdist is not simulated; several processes share a data set through poptorch.Options().Distributed "
    "(docs/poptorch.md)."
)
