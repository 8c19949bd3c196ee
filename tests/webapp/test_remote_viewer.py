"""docs/remote.md against a local sshd: the viewer listens on loopback, and `ssh -L` brings its page to another port."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest

from tests.samples import SAMPLES
from tests.waiting import wait_until

SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin")
pytestmark = pytest.mark.skipif(
    SSHD is None or shutil.which("ssh") is None, reason="no sshd or ssh here (Debian: openssh-server, openssh-client)"
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(timeout=20)


def until(answer: str, log: Path) -> re.Match[str]:
    """The first match of a pattern in a growing log."""
    found = wait_until(
        lambda: re.search(answer, log.read_text(errors="replace")),
        lambda: f"no {answer!r} in: {log.read_text(errors='replace')}",
    )
    assert found is not None
    return found


def fetched(address: str, host: str) -> tuple[int, str]:
    """Status and text of a page, once something listens there; `host` is the address that the browser shows."""

    def ask() -> tuple[int, str] | None:
        try:
            with urlopen(Request(address, headers={"Host": host}), timeout=10) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as refused:
            return refused.code, refused.read().decode()
        except (URLError, ConnectionError):
            return None

    answered = wait_until(ask, f"somebody listens at {address}")
    assert answered is not None
    return answered


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a viewer on loopback, as it runs on the machine with the reports."""
    log = tmp_path_factory.mktemp("viewer") / "log"
    command = [sys.executable, "-m", "popvision", "view", str(SAMPLES / "train_mlp"), "--no-browser", "--port", "0"]
    with running(command, log):
        yield int(until(r"http://127\.0\.0\.1:(\d+)", log)[1])


@pytest.fixture(scope="module")
def tunnel(tmp_path_factory: pytest.TempPathFactory, viewer: int) -> Iterator[dict[str, int]]:
    """Ports: "viewer" on the far side, "other" where a tunnel through a private sshd brings it."""
    folder = tmp_path_factory.mktemp("sshd")
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    shutil.copy(folder / "user.pub", folder / "authorized_keys")
    port, other = free_port(), free_port()
    (folder / "config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized_keys\n"
        f"PidFile {folder}/pid\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nAllowTcpForwarding yes\n"
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd of root insists on its empty folder
    user = os.environ.get("USER") or subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
    options = ["-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={folder}/known", "-o", "BatchMode=yes"]
    with ExitStack() as stack:
        stack.enter_context(running([str(SSHD), "-D", "-e", "-f", str(folder / "config")], folder / "log"))
        until("Server listening", folder / "log")
        forward = ["-N", "-L", f"127.0.0.1:{other}:127.0.0.1:{viewer}"]
        address = ["-i", str(folder / "user"), "-p", str(port), f"{user}@127.0.0.1"]
        stack.enter_context(running(["ssh", *options, *forward, *address], folder / "ssh.log"))
        yield {"other": other, "viewer": viewer}


def test_the_page_comes_through_a_tunnel_to_the_same_number(tunnel: dict[str, int]) -> None:
    """Both ends are on one machine here, where the number is taken, so the Host header alone has it."""
    status, text = fetched(f"http://127.0.0.1:{tunnel['other']}/", f"localhost:{tunnel['viewer']}")
    assert status == 200, text
    assert "PopVision" in text


def test_another_number_is_refused_with_the_option_that_allows_it(tunnel: dict[str, int]) -> None:
    host = f"localhost:{tunnel['other']}"
    status, text = fetched(f"http://127.0.0.1:{tunnel['other']}/", host)
    assert (status, "--allow-host" in text, host in text) == (403, True, True)


def test_the_viewer_itself_listens_on_loopback_alone(tunnel: dict[str, int]) -> None:
    own = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False).stdout.split()
    for address in (each for each in own if ":" not in each):
        with socket.socket() as probe:
            probe.settimeout(2)
            assert probe.connect_ex((address, tunnel["viewer"])) != 0
