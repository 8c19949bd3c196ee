"""Engine options of optimisation, of the target, and of the simulator itself."""

from __future__ import annotations

from simulator.base.options.option import Option

OPTIMISATION = (
    Option(
        "opt.internalExchangeOptimisationTarget",
        "enum",
        "cycles",
        (
            "What exchange code is made for: speed, less always-live memory, or less memory on tiles that "
            "can spare the time (how is a guess, `simulator/machine/exchange_code.py`)."
        ),
        changes="Bytes of exchange code, cycles of exchanges.",
        test="tests/compiler/memory/test_memory_options.py",
        choices=("balanced", "cycles", "memory"),
    ),
    Option(
        "opt.enableMultiAccessCopies",
        "bool",
        "true",
        "Copies within tiles load and store in one cycle, with both sides in memory elements apart.",
        changes="Cycles of copies on tiles, layout of memory.",
        test="tests/compiler/memory/test_memory_options.py",
    ),
    Option(
        "opt.limitVertexStateToLower256K",
        "bool",
        "false",
        "Vertex state where code can lie: less control code.",
        changes="Addresses of vertex state, bytes of control code.",
        test="tests/compiler/memory/test_memory_options.py",
    ),
    Option(
        "opt.maxCompilationThreads",
        "int",
        "0",
        "Most threads of compilation; 0 = one for each processor.",
        changes="How many threads estimate compute sets; host traces show them.",
        test="tests/poplar/options/test_building.py::test_maxCompilationThreads_is_the_number_of_threads_that_estimate",
    ),
    Option(
        "opt.maxLinkerThreads",
        "int",
        "0",
        "Most threads of linking; 0 = as many as compile.",
        changes="How many threads make the images of tiles for archive.a; host traces show them.",
        test="tests/poplar/options/test_building.py::test_maxLinkerThreads_is_the_number_of_threads_that_make_images",
    ),
    Option(
        "opt.useAutoloader",
        "bool",
        "<true except on Mk1>",
        "Load by the secondary loader. Only simulated hardware looks at it.",
        changes="Replicas after the first take initial values from it, not from the host; host traces show it.",
        test="tests/poplar/options/test_building.py::test_useAutoloader_loads_one_replica_from_the_host",
    ),
)

TARGET = (
    Option(
        "target.deterministicWorkers",
        "enum",
        "true",
        "The same workers run the same vertices each time.",
        changes=(
            "With false, which worker runs which vertex differs from compilation to compilation (worker "
            "lanes of the report); cycles and results do not."
        ),
        test="tests/poplar/options/test_target_options.py::test_workers_may_differ",
        choices=("true", "false", "portable"),
    ),
    Option(
        "target.extendedMemory",
        "bool",
        "false",
        "Remote buffers above 16 GiB.",
        changes="Whether remote buffers of more than 16 GiB in all compile; refused on Mk1 hardware.",
        test="tests/poplar/options/test_target_options.py::test_extended_memory",
    ),
    Option(
        "target.gatewayWriteCombining",
        "bool",
        "false",
        "Code for the gateway that combines writes to the host.",
        changes="Fewer, longer packets to the host (how long is a guess): less host exchange code, fewer headers.",
        test="tests/poplar/options/test_building.py::test_gatewayWriteCombining_joins_packets_to_the_host",
    ),
    Option(
        "target.saveArchive",
        "path",
        "",
        "File for the archive of per-tile ELF files.",
        changes="A file.",
        test="tests/engine/test_option_effects.py::test_save_archive",
    ),
    Option(
        "target.saveOutputVertexGraph",
        "path",
        "",
        "File for the vertex graph in dot format.",
        changes="A file.",
        test="tests/poplar/options/test_target_options.py::test_vertex_graph_is_saved",
    ),
    Option(
        "target.syncReplicasIndependently",
        "bool",
        "false",
        ("Host copies wait for the IPUs of their replica (sync group GS1) instead of those of all replicas (GS2)."),
        changes="Sync groups in the report; cycles when replicas wait for the host.",
        test=("tests/runtime/test_replicas.py::test_replicas_that_sync_independently_do_not_wait_for_each_others_host"),
    ),
)

OTHER = (
    Option(
        "experimental.minLoweringTiles",
        "int",
        "5888",
        "Tiles lowered at a time; 0 = all.",
        changes="Of how many tiles the allocations are put in order together: fewer take less memory and more time.",
        test="tests/poplar/options/test_building.py::test_minLoweringTiles_takes_less_memory",
    ),
)

OWN = (
    Option(
        "popvision.addressAccurate",
        "bool",
        "<POPVISION_ADDRESS_ACCURATE>",
        ("Values live only at the tile addresses that the report claims; at most 64 tiles. See address-accurate.md."),
        changes="How values are kept; wrong addresses become errors.",
        test="tests/runtime/address_accurate/test_address_accurate.py::test_a_wrong_address_is_found",
    ),
)
