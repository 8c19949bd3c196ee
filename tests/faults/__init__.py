"""How often do the tests find a fault that somebody planted?

seed_30.csv lists 60 faults, drawn before the tests of issue 30 moved: small changes of a line in every room, in Python
and JavaScript. Each is planted alone into a copy of the tree, and meets the tests of its room, then all others.

    python -m tests.faults draw --seed 30 --count 60 --at 9b681e50 > tests/faults/seed_30.csv
    python -m tests.faults run --list tests/faults/seed_30.csv --at main --table tests/faults/seed_30_now.csv \\
        --known tests/faults/seed_30_before.csv
    python -m tests.faults show
"""
