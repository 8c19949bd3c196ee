"""Ports, addresses and what is printed when the viewer starts."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.reports import write_tiny
from webapp.shell.serve import ServeError, bind, has_display, serve

#: A job in the background of a script inherits that Ctrl-C is ignored; the viewer of these tests does not.
INTERRUPTED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "


def test_a_busy_port_given_is_one_sentence() -> None:
    with bind("127.0.0.1", 0) as held:
        held.listen()
        port = held.getsockname()[1]
        with pytest.raises(ServeError, match=rf"^port {port} on 127.0.0.1 cannot be used .*choose another one"):
            bind("127.0.0.1", port)


def test_without_a_port_the_next_free_one_is_taken() -> None:
    with bind("127.0.0.1", None) as first:
        first.listen()
        with bind("127.0.0.1", None) as second:
            assert second.getsockname()[1] > first.getsockname()[1] >= 8050


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 70_000), ("no.such.host.invalid", 0), ("203.0.113.7", 0)])
def test_impossible_addresses_are_named(host: str, port: int) -> None:
    with pytest.raises(ServeError, match=r"70000|no\.such\.host|203\.0\.113\.7"):
        bind(host, port)


def test_a_wildcard_host_is_refused() -> None:
    with pytest.raises(ServeError, match="is not a host name"):
        serve([], port=0, allowed_hosts=["*"])


def test_a_display_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert not has_display()
    monkeypatch.setenv("DISPLAY", ":0")
    assert has_display()


def test_the_address_is_printed_last_and_answers(tmp_path: Path) -> None:
    write_tiny(tmp_path / "a")
    code = f"{INTERRUPTED}from webapp.shell.serve import serve; serve([{str(tmp_path)!r}], port=0)"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        line = child.stdout.readline()
        match = re.fullmatch(r"Serving on (http://127\.0\.0\.1:(\d+)/)\n", line)
        assert match, line
        with urllib.request.urlopen(match[1], timeout=20) as answer:
            assert answer.status == 200
        with pytest.raises(OSError), socket.create_connection((_own_address(), int(match[2])), timeout=2):
            pass  # only loopback listens
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=20)
        assert (child.returncode, out, err) == (0, "", "")


def _own_address() -> str:
    """An address of this machine that is not loopback, or one that nobody has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("203.0.113.1", 9))
        except OSError:
            return "203.0.113.1"
        return str(probe.getsockname()[0])
