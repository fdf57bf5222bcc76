"""Whether this machine can build the test bed, tried rather than guessed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from airqueue.linux import privileges
from airqueue.linux.errors import NamespaceError
from airqueue.linux.netns import Namespace
from airqueue.linux.privileges import missing_tools


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


def needed_tools(policer: bool = False) -> tuple[str, ...]:
    """Return the programs that a bed needs, with or without a policer."""
    return ("ip", "tc", "nft") if policer else ("ip", "tc")


def ensure_privileges(policer: bool = False) -> None:
    """Return when the bed can be built; otherwise start this command again where it can.

    See `privileges.ensure`; raises NamespaceError with one sentence when nothing helps.
    """
    privileges.ensure("the test bed", needed_tools(policer))


def checks() -> Iterator[Check]:
    """Try everything a bed needs, in this process, which must have the capabilities."""
    yield Check("ip and tc (iproute2)", missing_tools(("ip", "tc")))
    yield Check("nft (nftables)", missing_tools(("nft",)), "--policer nft")
    try:
        scratch = Namespace("check")
    except NamespaceError as error:
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
    except NamespaceError as error:
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
    except NamespaceError as error:
        return Check("settings of namespaces", str(error))
    return Check("settings of namespaces")
