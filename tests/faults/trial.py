"""Plant the faults of a list into a copy, one after the other, and note which test finds each.

A fault meets, until a test fails:

    known       the test that found it in another table
    likeliest   the likeliest test files of its room
    room        all other tests of its room
    elsewhere   the likeliest test files of each command
    all         every other test of CI: all faults left are planted together for one run, then each alone meets the
                tests that failed

A test that fails counts when it passes without the fault; one that opens pages has to fail twice. Each row is written
when it is known, so a run that was interrupted goes on where it was.
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
        numbers = {fault.number for fault in faults}
        self._known = {row.number: row for row in known if row.result == table.FOUND and row.number in numbers}
        self.rows = {row.number: row for row in table.read(file)}
        self._tests = TestFiles(copy.path)
        self._green: set[str] = set()  #: tests seen to pass without a fault
        self._seconds = 0.0

    def run(self, last: str, most_seconds: float, say: Callable[[str], None]) -> None:
        """All passes up to `last`; none begins after `most_seconds` of processor time, earlier runs included."""
        self._try_known_tests()
        for name in PASSES[: PASSES.index(last) + 1]:
            if name == "all":
                self._all_others(say)
                continue
            if name == "known" and not self._known:
                continue
            for fault in self._faults:
                row = self.rows.get(fault.number, Row(fault.number))
                if row.result != table.SURVIVES or (row.met and PASSES.index(row.met) >= PASSES.index(name)):
                    continue
                if sum(row.seconds for row in self.rows.values()) > most_seconds:
                    say(f"Stopped: {most_seconds:.0f} s of processor time are used up.")
                    return
                self._note(self._met(fault, row, name))
                say(str(self.rows[fault.number]))

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
            if command.environment in self._environments:
                tests = self._tests.of_room(fault, command)
                yield command, tests[:LIKELIEST] if name == "likeliest" else tests[LIKELIEST:]

    def _found(self, fault: Fault, text: str, command: Command, tests: list[str]) -> tuple[str, str] | None:
        """The test that finds a fault, and how it fails."""
        ignored: list[str] = []
        for _ in range(TRIES):
            self._copy.plant(fault.file, text)
            outcome = self._run(command, [*tests, *(f"--deselect={test}" for test in ignored)])
            if outcome.code < 0:
                return tests[0], "does not end"
            if outcome.green:
                return None
            test = outcome.failed[0] if outcome.failed else tests[0]
            again = command is not PAGES or not self._run(command, [test]).green
            self._copy.clean()
            if again and self._passes(command, test):
                return test, "not collected" if outcome.code == NOT_COLLECTED else "fails"
            ignored.append(test)
        return None

    def _passes(self, command: Command, test: str) -> bool:
        """Whether a test passes in the copy as it is."""
        if test not in self._green and self._run(command, [test]).green:
            self._green.add(test)
        return test in self._green

    def _try_known_tests(self) -> None:
        """Run the known tests of each command at once without a fault: those that pass need no such run later."""
        left = [row for row in self._known.values() if row.number not in self.rows]
        for command in COMMANDS:
            tests = sorted({row.test for row in left if self._command_of(row) is command})
            there = [test for test in tests if (self._copy.path / test.partition("::")[0]).exists()]
            if there and command.environment in self._environments:
                outcome = self._run(command, there, first_only=False)
                if outcome.green or outcome.code == TESTS_FAILED:
                    self._green |= set(there) - set(outcome.failed)

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
        left = [fault for fault in self._faults if self._is_left(fault)]
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
                failed[command] = self._run(command, [command.folder, *others], first_only=False).failed
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

    def _is_left(self, fault: Fault) -> bool:
        row = self.rows[fault.number]
        return row.result == table.SURVIVES and row.met != "all"

    def _note(self, row: Row) -> None:
        self._copy.clean()
        self.rows[row.number] = row._replace(commit=self._copy.commit)
        table.write(self.rows.values(), self._file)
