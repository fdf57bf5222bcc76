"""The Host AP leaves nothing behind, and builds with and without root."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from airqueue.linux import preflight, privileges
from airqueue.linux.config import HostApConfig
from airqueue.linux.errors import HostApError, NamespaceError
from airqueue.linux.host_ap import HostAp
from airqueue.linux.netns import Namespace

pytestmark = pytest.mark.bed

BUILD_AND_HOLD = """
import signal, sys, time
# A shell that runs the tests in the background has them ignore it, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
from airqueue.linux.host_ap import HostAp
from airqueue.linux.config import HostApConfig
outside = int(sys.argv[1])
with HostAp(HostApConfig()) as bed:
    # One end of a wire in the bed, the other in the test's namespace: it dies with the bed's.
    ap = bed.namespace("ap")
    done = ap.run(
        ["ip", "link", "add", "inner", "type", "veth", "peer", "name", "canary",
         "netns", f"/proc/self/fd/{outside}"], pass_fds=(outside,))
    print(done.stderr or "ready", flush=True)
    time.sleep(600)
"""


def links(namespace: Namespace) -> str:
    return namespace.run(("ip", "-o", "link", "show")).stdout


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_when_the_process_is_killed(how):
    named = Path("/run/netns")
    before = sorted(named.iterdir()) if named.is_dir() else []
    with Namespace("outside") as outside:
        command = [sys.executable, "-c", BUILD_AND_HOLD, str(outside.fd)]
        process = subprocess.Popen(
            command, pass_fds=(outside.fd,), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            assert "canary" in links(outside)
            assert (sorted(named.iterdir()) if named.is_dir() else []) == before
        finally:
            process.send_signal(how)
            process.wait(60)
        deadline = time.monotonic() + 60
        while "canary" in links(outside):
            assert time.monotonic() < deadline, "the bed's namespace outlived its process"
            time.sleep(0.05)


def open_files() -> int:
    """Descriptors of this process, without those that tests before have dropped but not closed."""
    gc.collect()
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - the listing itself is the point


def test_leaving_the_bed_closes_what_it_opened():
    before = open_files()
    for _ in range(3):
        with HostAp(HostApConfig()) as bed:
            assert Path(bed.sender_ns).exists()
    assert open_files() == before
    with pytest.raises(HostApError, match="with statement"):
        bed.queue_stats()


def test_a_bed_that_cannot_be_finished_is_taken_down(monkeypatch):
    before = open_files()
    monkeypatch.setattr("airqueue.linux.shaper.DEVICE", "nowhere")
    with pytest.raises(HostApError, match=r"nowhere.*testbed check"), HostAp(HostApConfig()):
        pass
    assert open_files() == before


def test_the_recorded_commands_build_the_same_bed_by_hand():
    with HostAp(HostApConfig()) as bed:
        recorded = bed.commands
        bed.queue_stats()
        assert bed.commands == recorded
    from airqueue.linux.host_ap import script  # noqa: PLC0415

    assert script(HostApConfig())[3:] == recorded


WITHOUT_ROOT = """
import os, sys
print(os.getpid(), flush=True)
from airqueue.linux import preflight
from airqueue.linux.host_ap import HostAp
from airqueue.linux.config import HostApConfig
preflight.ensure_privileges()
with HostAp(HostApConfig()) as bed:
    print(os.getpid(), bed.queue_stats().backlog_packets, sys.argv[1:], flush=True)
sys.exit(7)
"""


def test_without_capabilities_the_command_goes_on_in_a_user_namespace():
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv (Debian package util-linux) is not installed")
    # Still uid 0, so that it can read this checkout wherever it is. Mapping uid 0 onto uid 0 takes
    # CAP_SETFCAP, which any other user does without: theirs is not 0 (user_namespaces(7)).
    drop = ["setpriv", "--bounding-set=-all,+setfcap", "--inh-caps=-all"]
    done = subprocess.run(
        [*drop, sys.executable, "-c", WITHOUT_ROOT, "an argument"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    first, again, built = done.stdout.splitlines()
    assert first == again
    assert built == f"{first} 0 ['an argument']"
    assert done.returncode == 7


def test_a_missing_tool_is_named_with_its_package(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "nft" else f"/bin/{name}")
    assert privileges.missing_tools(("ip", "tc")) == ""
    assert "apt-get install nftables" in privileges.missing_tools(preflight.needed_tools(True))
    with pytest.raises(NamespaceError, match="nft is not installed"):
        preflight.ensure_privileges(policer=True)


def test_no_rights_at_all_is_one_sentence(monkeypatch):
    monkeypatch.setattr(privileges, "has_capabilities", lambda: False)
    monkeypatch.setattr(privileges, "_PROBE", ("false",))
    with pytest.raises(NamespaceError, match=r"needs root or user namespaces.*run as root"):
        preflight.ensure_privileges()


def test_a_user_namespace_without_rights_does_not_loop(monkeypatch):
    monkeypatch.setattr(privileges, "has_capabilities", lambda: False)
    monkeypatch.setenv("AIRQUEUE_IN_USER_NAMESPACE", "1")
    with pytest.raises(NamespaceError, match="run as root"):
        preflight.ensure_privileges()
