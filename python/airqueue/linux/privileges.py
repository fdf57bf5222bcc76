"""The right to make network namespaces, had or got.

Root has it. Anyone else gets the whole command again inside a user namespace of their own, in which
they are root over new network namespaces and over nothing else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NoReturn

from airqueue.linux.errors import NamespaceError

Mode = Literal["direct", "user-namespace"]

_CAP_NET_ADMIN = 12
_CAP_SYS_ADMIN = 21
_INSIDE = "AIRQUEUE_IN_USER_NAMESPACE"
_UNSHARE = ("unshare", "--user", "--map-root-user")
_PROBE = (*_UNSHARE, "--net", "ip", "link", "set", "dev", "lo", "up")

_PACKAGES = {
    "ip": "iproute2",
    "tc": "iproute2",
    "nft": "nftables",
    "pasta": "passt",
    "unshare": "util-linux",
    "mount": "mount",
    "iptables": "iptables",
    "ip6tables": "iptables",
    "iptables-legacy": "iptables",
    "ip6tables-legacy": "iptables",
}
# Debian's directories of administrators' tools, which are not on every user's PATH.
_SBIN = ("/usr/sbin", "/sbin", "/usr/local/sbin")


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
    packages = sorted({_PACKAGES.get(name, name) for name in absent})
    verb = "is" if len(absent) == 1 else "are"
    return (
        f"{' and '.join(absent)} {verb} not installed: "
        f"'apt-get install {' '.join(packages)}' provides what is missing"
    )


def choose_mode(what: str) -> Mode:
    """Return how namespaces can be made here; raise NamespaceError with one sentence if not.

    ``what`` needs them: the subject of the sentence.
    """
    if has_capabilities():
        return "direct"
    absent = missing_tools(("unshare", "ip"))
    if absent:
        raise NamespaceError(f"without root {what} needs user namespaces, and {absent}")
    try:
        tried = subprocess.run(_PROBE, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NamespaceError(
            f"user namespaces could not be tried ({error}): run as root"
        ) from error
    if tried.returncode == 0:
        return "user-namespace"
    raise NamespaceError(f"{what} needs root or user namespaces, and {_why_no_user_namespaces()}")


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


def ensure(what: str, tools: Sequence[str]) -> None:
    """Return when ``what`` can be built; otherwise start this command again where it can.

    The command replaces this process: same pid, same terminal, and its exit code is the caller's.
    Raises NamespaceError with one sentence when ``tools`` are missing or nothing helps.
    """
    absent = missing_tools(tools)
    if absent:
        raise NamespaceError(absent)
    if choose_mode(what) == "direct":
        # Programs that this one starts have the rights too, and may ask again for themselves.
        os.environ.pop(_INSIDE, None)
        return
    if os.environ.get(_INSIDE):
        raise NamespaceError(
            "the user namespace gave no rights over network namespaces: run as root"
        )
    _exec_in_user_namespace()


def _exec_in_user_namespace() -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    command = [*_UNSHARE, "--", sys.executable, *sys.orig_argv[1:]]
    os.environ[_INSIDE] = "1"
    # unshare execs without forking unless asked to, so the pid stays.
    os.execvp(command[0], command)


def command_prefix() -> tuple[str, ...]:
    """Return what to put before a command so that it may make namespaces; empty for root."""
    return () if choose_mode("the test bed") == "direct" else (*_UNSHARE, "--")
