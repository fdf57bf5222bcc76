"""Whether this machine can build the test bed, tried rather than guessed, and with what rights.

As root the bed is built directly. Anyone else gets the whole command again inside a user namespace
of their own, in which they are root over new network namespaces and over nothing else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, NoReturn

from airqueue.linux.netns import HostApError, Namespace

Mode = Literal["direct", "user-namespace"]

_CAP_NET_ADMIN = 12
_CAP_SYS_ADMIN = 21
_INSIDE = "AIRQUEUE_IN_USER_NAMESPACE"
_UNSHARE = ("unshare", "--user", "--map-root-user")
_PROBE = (*_UNSHARE, "--net", "ip", "link", "set", "dev", "lo", "up")

_PACKAGES = {"ip": "iproute2", "tc": "iproute2", "nft": "nftables", "unshare": "util-linux"}
# Debian's directories of administrators' tools, which are not on every user's PATH.
_SBIN = ("/usr/sbin", "/sbin", "/usr/local/sbin")


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check; ``problem`` is a sentence, empty if there is none."""

    name: str
    problem: str = ""
    needed_for: str = ""
    """The option that needs the feature; empty: all of the test bed does."""

    @property
    def ok(self) -> bool:
        """Whether the check passed."""
        return not self.problem


def extend_path() -> None:
    """Put the directories of ip, tc and nft on this process's PATH, after what is there."""
    known = os.environ.get("PATH", os.defpath).split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join([*known, *(d for d in _SBIN if d not in known)])


def has_capabilities() -> bool:
    """Return whether this process may make and fill network namespaces in its user namespace."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return False
    effective = next((x for x in status.splitlines() if x.startswith("CapEff:")), "CapEff: 0")
    held = int(effective.split()[1], 16)
    return all(held >> cap & 1 for cap in (_CAP_NET_ADMIN, _CAP_SYS_ADMIN))


def missing_tools(names: Sequence[str]) -> str:
    """Return one sentence that names the Debian packages of absent programs, or nothing."""
    extend_path()
    absent = [name for name in names if shutil.which(name) is None]
    if not absent:
        return ""
    packages = sorted({_PACKAGES[name] for name in absent})
    verb = "is" if len(absent) == 1 else "are"
    return (
        f"{' and '.join(absent)} {verb} not installed: "
        f"'apt-get install {' '.join(packages)}' provides what is missing"
    )


def needed_tools(policer: bool = False) -> tuple[str, ...]:
    """Return the programs that a bed needs, with or without a policer."""
    return ("ip", "tc", "nft") if policer else ("ip", "tc")


def choose_mode() -> Mode:
    """Return how the bed can be built here; raise BedError with one sentence if it cannot."""
    if has_capabilities():
        return "direct"
    absent = missing_tools(("unshare", "ip"))
    if absent:
        raise HostApError(f"without root the test bed needs user namespaces, and {absent}")
    try:
        tried = subprocess.run(_PROBE, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostApError(f"user namespaces could not be tried ({error}): run as root") from error
    if tried.returncode == 0:
        return "user-namespace"
    raise HostApError(
        f"the test bed needs root or user namespaces, and {_why_no_user_namespaces()}"
    )


def _why_no_user_namespaces() -> str:
    """Return what forbids user namespaces: the end of a sentence, with the remedy."""
    for setting, forbidding in (
        ("kernel.unprivileged_userns_clone", "0"),
        ("user.max_user_namespaces", "0"),
        ("kernel.apparmor_restrict_unprivileged_userns", "1"),
    ):
        path = Path("/proc/sys") / setting.replace(".", "/")
        try:
            found = path.read_text(encoding="ascii").strip()
        except OSError:
            continue
        if found == forbidding:
            return f"{setting}={found} forbids the latter: run as root"
    return "this kernel or container refuses the latter: run as root"


def ensure_privileges(policer: bool = False) -> None:
    """Return when the bed can be built; otherwise start this command again where it can.

    The command replaces this process: same pid, same terminal, and its exit code is the caller's.
    Raises BedError with one sentence when tools are missing or nothing helps.
    """
    absent = missing_tools(needed_tools(policer))
    if absent:
        raise HostApError(absent)
    if choose_mode() == "direct":
        return
    if os.environ.get(_INSIDE):
        raise HostApError("the user namespace gave no rights over network namespaces: run as root")
    _exec_in_user_namespace()


def _exec_in_user_namespace() -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    command = [*_UNSHARE, "--", sys.executable, *sys.orig_argv[1:]]
    os.environ[_INSIDE] = "1"
    # unshare execs without forking unless asked to, so the pid stays.
    os.execvp(command[0], command)


def command_prefix() -> tuple[str, ...]:
    """Return what to put before a command so that it may build the bed; empty for root."""
    return () if choose_mode() == "direct" else (*_UNSHARE, "--")


def checks() -> Iterator[Check]:
    """Try everything a bed needs, in this process, which must have the capabilities."""
    yield Check("ip and tc (iproute2)", missing_tools(("ip", "tc")))
    yield Check("nft (nftables)", missing_tools(("nft",)), "--policer nft")
    try:
        scratch = Namespace("check")
    except HostApError as error:
        yield Check("network namespaces", str(error))
        return
    with scratch:
        yield Check("network namespaces")
        veth = _tried(scratch, "veth devices", "veth", "ip link add v0 type veth peer name v1")
        yield veth
        if veth.ok:
            yield from _queue_checks(scratch)
        yield from _policer_checks(scratch)
        yield _writable_settings(scratch)


def _queue_checks(scratch: Namespace) -> Iterator[Check]:
    tried = partial(_tried, scratch)
    add = "tc qdisc add dev v0"
    yield tried("tbf shaper", "sch_tbf", f"{add} root handle 1: tbf rate 1mbit burst 1540 limit 9")
    yield tried("FIFO queues", "sch_fifo", f"{add} parent 1:1 handle 10: pfifo limit 9")
    scratch.run(("tc", "qdisc", "del", "dev", "v0", "root"))
    yield tried("htb shaper", "sch_htb", f"{add} root handle 1: htb", "--shaper htb, --isolate")
    leaf = "tc class add dev v0 parent 1: classid 1:1 htb rate 1mbit"
    yield tried("htb classes", "sch_htb", leaf, "--shaper htb, --isolate")
    match = "u32 match ip dport 1 0x0001 flowid 1:1"
    command = f"tc filter add dev v0 parent 1: protocol ip prio 1 {match}"
    yield tried("u32 filters", "cls_u32", command, "--isolate")


def _policer_checks(scratch: Namespace) -> Iterator[Check]:
    if missing_tools(("nft",)):
        return
    chain = "{ type filter hook forward priority 0 ; }"
    scratch.run(("nft", "add", "table", "inet", "t"))
    scratch.run(("nft", "add", "chain", "inet", "t", "c", chain))
    rule = "nft add rule inet t c limit rate over 9 kbytes/second burst 9 kbytes drop"
    yield _tried(scratch, "nftables rate limits", "nft_limit", rule, "--policer nft")


def _tried(scratch: Namespace, name: str, module: str, command: str, needed_for: str = "") -> Check:
    try:
        done = scratch.run(command.split())
    except HostApError as error:
        return Check(name, str(error), needed_for)
    if done.returncode == 0:
        return Check(name, "", needed_for)
    problem = (
        f"this kernel has no {name} ({' '.join(done.stderr.split())}): "
        f"load {module} with 'modprobe {module}' or use a kernel that has it"
    )
    return Check(name, problem, needed_for)


def _writable_settings(scratch: Namespace) -> Check:
    try:
        scratch.set_sysctl("net.ipv4.ip_forward", "1")
    except HostApError as error:
        return Check("settings of namespaces", str(error))
    return Check("settings of namespaces")


def main() -> int:
    """Print the prefix with which a test command may build the bed (used by the Makefile)."""
    try:
        print(" ".join(command_prefix()))
    except HostApError as error:
        print(error, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
