"""Options of runs."""

from __future__ import annotations

from simulator.base.options.option import Option

RUNTIME = (
    Option(
        "target.syncMethod",
        "enum",
        "default",
        "How the host waits.",
        changes="hybrid: the host is woken, so that target.syncPollPeriodUs costs nothing.",
        test="tests/poplar/options/test_runtime_options.py::test_a_host_that_polls_late_makes_hardware_wait",
        choices=("polling", "hybrid", "default"),
    ),
    Option(
        "target.syncPollPeriodUs",
        "int",
        "0",
        "Microseconds between polls.",
        changes=(
            "On simulated hardware every data transfer waits half a period longer, the mean of a host that "
            "looks so often."
        ),
        test="tests/poplar/options/test_runtime_options.py::test_a_host_that_polls_late_makes_hardware_wait",
    ),
    Option(
        "target.exceptionPollPeriodUs",
        "int",
        "250000",
        "Microseconds between checks for exceptions.",
        changes="Device time that passes until the host notices that a run has failed.",
        test="tests/poplar/options/test_runtime_options.py::test_the_host_notices_failures_late",
    ),
    Option(
        "target.hostSyncTimeout",
        "float",
        "300.00",
        "Seconds until a host synchronisation fails; 0 = never.",
        changes=(
            "A run that lets the host wait longer, in modelled time, raises unknown_runtime_error with "
            "HOST_SYNC_TIMEOUT: before the late synchronisation, or, where data choose the way, at its end."
        ),
        test=(
            "tests/poplar/options/test_runtime_options.py::test_what_comes_after_a_late_synchronisation_does_not_happen"
        ),
    ),
    Option(
        "streamCallbacks.multiThreadMode",
        "enum",
        "singleThread",
        "Threads of stream callbacks.",
        changes="The threads that call fetch, prefetch and complete; prefetching beside the program.",
        test="tests/poplar/options/test_runtime_options.py::test_threads_of_callbacks",
        choices=("singleThread", "collaborative", "dedicated"),
    ),
    Option(
        "streamCallbacks.numaAware",
        "bool",
        "false",
        "Callback threads near their IPU.",
        changes="A pool of threads for each node of this machine's memory; refused with singleThread.",
        test="tests/poplar/options/test_runtime_options.py::test_numa_nodes_have_threads_of_their_own",
    ),
    Option(
        "streamCallbacks.numWorkerThreads",
        "int",
        "0",
        "Callback threads; auto = as many as useful.",
        changes="How many threads there are.",
        test="tests/poplar/options/test_runtime_options.py::test_threads_of_callbacks",
    ),
)
