"""python -m simulator.slurm: a pod of simulated IPUs under Slurm, on this machine or as files for a cluster."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from simulator.slurm.configuration import PodError, PodFiles
from simulator.slurm.pod import Pod


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m simulator.slurm", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    pod = commands.add_parser(
        "pod",
        help="run munged, slurmctld and slurmd on this machine until Ctrl-C, or while a command runs",
        usage="%(prog)s [--ipus N] [--folder FOLDER] [-- COMMAND ...]",
    )
    files = commands.add_parser("files", help="write the files that the nodes of a cluster need")
    for each in (pod, files):
        each.add_argument("--ipus", type=int, default=64, metavar="N", help="IPUs of a node, a power of two (64)")
    pod.add_argument("--folder", type=Path, help="a new folder that stays, with the daemons' logs")
    pod.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND", help=argparse.SUPPRESS)
    files.add_argument("folder", type=Path, help="a folder that every node has at the same path")
    return parser


def _run_pod(folder: Path | None, ipus: int, command: list[str]) -> int:
    with ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pod-", ignore_cleanup_errors=True)))
        pod = stack.enter_context(Pod(folder, ipus))
        if command:
            return _run_command(command, pod.environment)
        print(f"export SLURM_CONF={pod.files.slurm_conf}", flush=True)
        print(f"A pod of {ipus} IPUs runs; set that variable where you call srun. Ctrl-C ends it.", file=sys.stderr)
        while not pod.failed_daemon():
            time.sleep(0.5)
        raise PodError(f"{pod.failed_daemon()} has ended; its log lies in the folder given by --folder.")


def _run_command(command: list[str], environment: dict[str, str]) -> int:
    try:
        code = subprocess.run(command, env=environment, check=False).returncode
    except OSError as error:
        raise PodError(f"'{command[0]}' cannot be started: {error.strerror}.") from None
    return code if code >= 0 else 128 - code


def main(arguments: list[str] | None = None) -> int:
    """The exit code: that of the command, 0 after Ctrl-C, 1 after one sentence on standard error."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    chosen = _parser().parse_args(arguments)
    try:
        if chosen.command == "files":
            files = PodFiles(chosen.folder.resolve(), chosen.ipus)
            files.folder.mkdir(parents=True, exist_ok=True)
            files.write()
            return 0
        words = chosen.words[1:] if chosen.words[:1] == ["--"] else chosen.words
        return _run_pod(chosen.folder, chosen.ipus, words)
    except KeyboardInterrupt:
        return 0
    except PodError as error:
        print(f"simulator.slurm: {error}", file=sys.stderr)
    except OSError as error:
        print(f"simulator.slurm: {error.filename}: {error.strerror}.", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
