"""Plant the faults of a list into a copy, one after the other, and note which test finds each.

A fault meets, until a test fails:

    known       the test that found it in another table
    likeliest   the likeliest test files of its room
    room        all other tests of its room
    elsewhere   the likeliest test files of each command
    all         every other test of CI: all faults left are planted together for one run, then each alone meets the
                tests that failed

A test that fails counts when it passes without the fault: after each pass one run without faults proves that for all
tests together. One that opens pages has to fail twice. Each row is written when it is known, so a run that was
interrupted goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from tests.faults import table
from tests.faults.copies import NOT_COLLECTED, TESTS_FAILED, Copy, Outcome
from tests.faults.fault_list import Fault, planted
from tests.faults.table import Row
from tests.faults.tests_of_rooms import COMMANDS, LIKELIEST, PAGES, TEST, Command, TestFiles, commands_of

PASSES = ("known", "likeliest", "room", "elsewhere", "all")
#: Tests that fail and do not count, before a fault is said to survive a run.
TRIES = 4


class Trial:
    """A list of faults, a copy of a commit, and the table that is being written."""

    def __init__(self, faults: list[Fault], copy: Copy, file: Path, environments: set[str], known: list[Row]) -> None:
        self._faults, self._copy, self._file = faults, copy, file
        self._environments = environments
        self._numbers = {fault.number for fault in faults}
        self._known = {row.number: row for row in known if row.result == table.FOUND and row.number in self._numbers}
        self.rows = {row.number: row for row in table.read(file)}
        self._tests = TestFiles(copy.path)
        self._unsteady: set[str] = set()  #: tests that fail without a fault too
        self._seconds = 0.0

    def run(self, last: str, most_seconds: float, say: Callable[[str], None]) -> None:
        """All passes up to `last`; none begins after `most_seconds` of processor time, earlier runs included."""
        for name in PASSES[: PASSES.index(last) + 1]:
            self._run_pass(name, most_seconds, say)
            while self._forget_unproved(say):
                self._run_pass(name, most_seconds, say)

    def _run_pass(self, name: str, most_seconds: float, say: Callable[[str], None]) -> None:
        if name == "all":
            if not self._is_used_up(most_seconds, say):
                self._all_others(say)
            return
        for fault in self._faults:
            if self._is_due(fault, name):
                if self._is_used_up(most_seconds, say):
                    return
                self._note(self._met(fault, self.rows.get(fault.number, Row(fault.number)), name))
                say(str(self.rows[fault.number]))

    def _is_due(self, fault: Fault, name: str) -> bool:
        """Whether a fault still has to meet the tests of a pass, and all their environments are there."""
        row = self.rows.get(fault.number, Row(fault.number))
        if name == "known" and fault.number not in self._known:
            return False
        there = self._environments.issuperset(command.environment for command in commands_of(fault))
        met = PASSES.index(row.met) if row.met else -1
        return there and row.result == table.SURVIVES and met < PASSES.index(name)

    def _is_used_up(self, most_seconds: float, say: Callable[[str], None]) -> bool:
        used = sum(row.seconds for row in self.rows.values())
        if used > most_seconds:
            say(f"Stopped after {used:.0f} s of processor time.")
        return used > most_seconds

    def _met(self, fault: Fault, row: Row, name: str) -> Row:
        """The row after a fault met the tests of a pass."""
        text = planted(fault, self._copy.source(fault.file))
        if text is None:
            return row._replace(result=table.GONE)
        self._seconds = 0.0
        for command, tests in self._tests_of(fault, name):
            found = self._found(fault, text, command, tests) if tests else None
            if found is not None:
                row = row._replace(result=table.FOUND, command=command.name, test=found[0], how=found[1])
                break
        return row._replace(met=name, seconds=row.seconds + self._seconds)

    def _tests_of(self, fault: Fault, name: str) -> Iterator[tuple[Command, list[str]]]:
        if name == "known":
            row = self._known.get(fault.number)
            if row is not None:
                yield self._command_of(row), [row.test]
            return
        if name == "elsewhere":
            for command in (TEST, PAGES) if fault.room.startswith("webapp") else (TEST,):
                yield command, self._tests.elsewhere(fault, command)[: 2 * LIKELIEST]
            return
        for command in commands_of(fault):
            tests = self._tests.of_room(fault, command)
            yield command, tests[:LIKELIEST] if name == "likeliest" else tests[LIKELIEST:]

    def _found(self, fault: Fault, text: str, command: Command, tests: list[str]) -> tuple[str, str] | None:
        """The test that finds a fault, and how it fails."""
        passed: list[str] = []
        self._copy.plant(fault.file, text)
        for _ in range(TRIES):
            outcome = self._run(command, [*tests, *(f"--deselect={test}" for test in (*self._unsteady, *passed))])
            if outcome.code < 0:
                return tests[0], "does not end"
            if outcome.green:
                return None
            test = outcome.failed[0] if outcome.failed else tests[0]
            if command is not PAGES or not self._run(command, [test]).green:
                return test, "is not collected" if outcome.code == NOT_COLLECTED else "fails"
            passed.append(test)
        return None

    def _forget_unproved(self, say: Callable[[str], None]) -> bool:
        """Run the tests that found something without any fault; whether one fails there: its rows are tried again."""
        left = [row for row in self.rows.values() if row.result == table.FOUND and not row.proved]
        self._copy.clean()
        forgotten = False
        for command in COMMANDS:
            rows = [row for row in left if row.number in self._numbers and self._command_of(row) is command]
            if not rows or command.environment not in self._environments:
                continue
            self._seconds = 0.0
            outcome = self._run(command, sorted({row.test for row in rows}), first_only=False)
            for row in rows:
                share = row.seconds + self._seconds / len(rows)
                if outcome.code in (0, TESTS_FAILED) and not row.test.startswith(tuple(outcome.failed)):
                    self._note(row._replace(proved="yes", seconds=share))
                else:
                    say(f"{row.test} fails without fault {row.number}, too")
                    self._unsteady.add(row.test)
                    before = PASSES[PASSES.index(row.met) - 1] if row.met != PASSES[0] else ""
                    self._note(Row(row.number, met=before, seconds=share))
                    forgotten = True
        return forgotten

    def _command_of(self, row: Row) -> Command:
        """The command that found a fault in the other table."""
        fault = next(fault for fault in self._faults if fault.number == row.number)
        return next(command for command in (*commands_of(fault), *COMMANDS) if command.name == row.command)

    def _run(self, command: Command, tests: list[str], first_only: bool = True) -> Outcome:
        outcome = self._copy.run(command.environment, command.left_out, tests, first_only)
        self._seconds += outcome.seconds
        return outcome

    def _all_others(self, say: Callable[[str], None]) -> None:
        """Plant what is left together; its time is shared out."""
        left = [fault for fault in self._faults if fault.number in self.rows and self._is_due(fault, "all")]
        if not left:
            return
        self._seconds = 0.0
        failed: dict[Command, list[str]] = {}
        for command in COMMANDS:
            if command.environment in self._environments:
                for fault in left:
                    text = planted(fault, self._copy.source(fault.file))
                    assert text is not None
                    self._copy.plant(fault.file, text)
                others = [] if command is not TEST else [f"--ignore={PAGES.folder}"]
                whole = [command.folder, *others]
                outcome = self._run(command, whole, first_only=False)
                failed[command] = outcome.failed or ([] if outcome.green else whole)
                self._copy.clean()
                say(f"{command.name}: {len(failed[command])} tests fail with {len(left)} faults together")
        share = self._seconds / len(left)
        for fault in left:
            self._seconds = share
            text = planted(fault, self._copy.source(fault.file))
            assert text is not None
            row = self.rows[fault.number]._replace(met="all")
            for command, tests in failed.items():
                found = self._found(fault, text, command, tests) if tests else None
                if found is not None:
                    row = row._replace(result=table.FOUND, command=command.name, test=found[0], how=found[1])
                    break
            self._note(row._replace(seconds=row.seconds + self._seconds))
            say(str(row))

    def _note(self, row: Row) -> None:
        self._copy.clean()
        self.rows[row.number] = row._replace(commit=self._copy.commit)
        table.write(self.rows.values(), self._file)
