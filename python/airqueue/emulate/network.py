"""A scenario whose real nodes are network namespaces, carried by the engine in real time."""

from __future__ import annotations

import json
import math
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, TypeAlias

from airqueue import _native
from airqueue.emulate import back_pressure, captures, catalogue
from airqueue.emulate.devices import Device, Devices, checked_kind, choose
from airqueue.emulate.errors import EmulationError
from airqueue.emulate.nodes import RING_PACKETS, TOOLS, Host
from airqueue.emulate.outside import Outside
from airqueue.emulate.outside import check as check_outside
from airqueue.emulate.plan import PREFIX, PREFIX6, Plan, has_ipv6
from airqueue.emulate.results import EmulationResults
from airqueue.emulate.series import Series
from airqueue.linux import privileges
from airqueue.linux.errors import NamespaceError
from airqueue.simulate import Scenario, ScenarioError
from airqueue.simulate.errors import check_whole
from airqueue.simulate.replications import MOST_SEED
from airqueue.traces import Opportunities

_LOOK_S: Final = 0.005
"""How often it is looked whether the warm-up is over."""


Given: TypeAlias = Scenario | str | os.PathLike[str] | Mapping[str, object]
"""A scenario: checked, by the name of a preset or the path of a file, or as a dictionary."""


class EmulatedNetwork:
    """A network in which some nodes are real, running within a ``with`` statement.

    ``scenario``: the name of a preset, the path of a scenario file, or the keys of one as a
    dictionary. ``real``: stations and hosts that are real, in addition to those with ``real =
    true``. ``seed`` determines every random draw of the network; real time and real programs are not
    repeatable. ``changes``: values of the scenario to change, as in ``{"phy.rate": "6 Mb/s"}``.
    ``back_pressure``: whether packets count against their sockets while a real station has them.
    ``pcap``: for each node that is to be captured a file of pcapng, which is made when the network
    starts.
    ``device``: the kind of all nodes' devices; by default TUN where this user may make TUN devices.
    ``trace``: a link such as ``ap:phone``, whose delivery `opportunities` are kept.
    ``offload``: whether TUN devices have segmentation offload, as network cards do.
    ``outside``: the node, real too, by way of which programs at all nodes reach networks outside.

    Needs root, or a user namespace (`airqueue.linux.privileges`). Raises
    EmulationError, NamespaceError or ScenarioError with one sentence, and OSError for a file.
    """

    def __init__(
        self,
        scenario: Given,
        *,
        real: Sequence[str] = (),
        seed: int = 1,
        changes: Mapping[str, object] | None = None,
        back_pressure: bool = True,
        pcap: Mapping[str, str | os.PathLike[str]] | None = None,
        device: Device | None = None,
        offload: bool = True,
        outside: str | None = None,
        trace: str | None = None,
    ) -> None:
        real = [*_nodes(real), *([] if outside is None else [outside])]
        self.name, described = _read(scenario, changes or {}, others_real=bool(real))
        self.seed, self.records = _checked(seed), described.records
        self._back_pressure = back_pressure
        try:
            self._engine = _native.Emulation(json.dumps(described.description), real, seed)
        except ValueError as error:
            raise ScenarioError(f"{self.name}: {error}") from error
        nodes = self._engine.nodes
        names, wired = [name for name, _ in nodes], [is_wired for _, is_wired in nodes]
        mtus, routers = self._engine.mtus, self._engine.routers
        self.plan = Plan(names, wired, ipv6=has_ipv6(), mtus=mtus, routers=routers)
        self._engine.add_prefix(str(PREFIX[0]), PREFIX.prefixlen)
        self._engine.add_prefix(str(PREFIX6[0]), PREFIX6.prefixlen)
        for router in self.plan.routers:
            self._engine.set_router(router.name, router.addresses)
        self._pcap = {node: os.fspath(file) for node, file in (pcap or {}).items()}
        captures.check(self._pcap, self.plan)
        if outside is not None and self.plan.node(outside) is None:
            known = ", ".join(names)
            raise EmulationError(f"{outside!r} is not one node: real nodes are {known}")
        self._trace = trace
        if trace is not None:
            try:
                self._engine.watch(trace)
            except ValueError as error:
                raise ScenarioError(f"{self.name}: {error}") from error
        self.opportunities: Opportunities | None = None
        """Those of ``trace``, after the end."""
        self._asked_device = checked_kind(device)
        self._offload = offload
        self._devices: Devices | None = None
        self._gateway = outside
        self._outside: Outside | None = None
        self.on_end: Callable[[], None] = lambda: None
        """Called in another thread when the engine has ended, by itself or by `stop`."""
        self.ended = False
        """Whether the engine has ended."""
        self.without_back_pressure: dict[str, str] = {}
        """Stations whose programs do not feel that the station's queue is full, and why not."""
        self._hosts: dict[str, Host] = {}
        self._thread: threading.Thread | None = None
        self._has_figures = False
        """Whether the engine has begun, and has not failed."""
        self._failure: BaseException | None = None
        self._final: EmulationResults | None = None
        self._changed: list[Mapping[str, Any]] = []
        self.series: Series | None = None
        """Figures over time, of which results have the text, if somebody adds them."""
        self.programs: tuple[Mapping[str, Any], ...] = ()
        """What has been run, for results: ``node``, ``command``, and ``exit_code``."""

    def __enter__(self) -> EmulatedNetwork:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(
        self, duration_s: float | None = None, given_up: Callable[[], bool] = lambda: False
    ) -> None:
        """Build the nodes, simulate the warm-up and return when real time begins.

        ``given_up`` is called now and then during the warm-up; true ends the emulation.
        """
        self._check()
        try:
            self._build()
            self._run(duration_s, given_up)
        except BaseException:
            self.close()
            raise

    def host(self, name: str) -> Host:
        """Return a real node, to run programs there."""
        try:
            return self._hosts[name]
        except KeyError:
            known = ", ".join(node.name for node in self.plan.nodes)
            if self.plan.node(name) is not None:
                raise EmulationError("the emulation is not running") from None
            raise EmulationError(f"{name!r} is not a real node; real nodes are {known}") from None

    def change(self, change: Mapping[str, object]) -> float:
        """Change the running network now; return the time since real time began, in s.

        ``change`` has the keys of an entry of ``[[changes]]`` in a scenario, without ``at``:
        ``{"station": "phone", "away": True}``, ``{"host": "server", "rate": "2 Mb/s"}``. Before real
        time has begun the time is negative. May be called from any thread. Raises ScenarioError for
        what cannot be changed, EmulationError if the emulation is not running.
        """
        if self.ended:
            raise EmulationError("the emulation is not running")
        for key, value in change.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise ScenarioError(
                    f"the change is refused: {key}: found {value}, expected a finite number"
                )
        try:
            at_s = self._running().change(json.dumps(change))
        except (TypeError, ValueError) as error:
            raise ScenarioError(f"the change is refused: {error}") from error
        self._changed.append({"at_s": at_s, "change": dict(change)})
        return at_s

    def keep_series(self) -> None:
        """Have results say how figures went over time, once a `Live` notes them."""
        nodes = len(self.plan.nodes)
        self.series = Series(nodes * (nodes - 1))

    def moment(self) -> _native.Moment:
        """Return all counters at this moment; `since` has the figures of the time between two.

        After the end of real time the counters are those of the end, until `close`. May be called
        from any thread. Raises EmulationError before real time has begun.
        """
        if not self._has_figures or not hasattr(self, "_engine"):
            raise EmulationError("the emulation is not running")
        if not self._engine.started:
            raise EmulationError("the warm-up of the emulation is not over")
        return self._engine.moment()

    def _running(self) -> _native.Emulation:
        if self._thread is None or not hasattr(self, "_engine"):
            raise EmulationError("the emulation is not running")
        return self._engine

    def report(self) -> EmulationResults:
        """Return the figures so far; after the end, those of the whole run.

        Raises EmulationError if the emulation has never run.
        """
        if self._final is not None:
            return self._final
        if not hasattr(self, "_engine"):
            raise EmulationError("the emulation has no figures: it ended before it ran")
        missed = self._engine.device_drops()
        return EmulationResults(
            self.name,
            self.seed,
            self.plan.nodes,
            self._engine.report(),
            json.loads(self._engine.figures()),
            {name: host.dropped_packets() + missed[name] for name, host in self._hosts.items()},
            device=None if self._devices is None else self._devices.kind,
            offload=self._devices is not None and self._devices.offload,
            outside=None if self._outside is None else self._outside.document(),
            without_back_pressure=self.without_back_pressure,
            routers=self.plan.routers,
            captures=tuple(
                captures.Capture(node, self._pcap[node], packets, problem)
                for node, packets, problem in self._engine.captures()
            ),
            changes=tuple(self._changed),
            programs=self.programs,
            congestion_control={
                name: host.congestion_control() for name, host in self._hosts.items()
            },
            series=None if self.series is None else self.series.document(),
        )

    def stop(self) -> None:
        """End real time; nodes and programs stay until `close`. Raises what made the engine fail."""
        self._engine.stop()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._failure is not None:
            failure, self._failure = self._failure, None
            self._has_figures = False
            raise EmulationError(f"the emulation ended early: {failure}") from failure

    def close(self) -> None:
        """End everything: programs that `Host.popen` started, the engine, devices and namespaces.

        May be called again.
        """
        if not hasattr(self, "_engine"):
            return
        hosts = self._hosts
        for host in hosts.values():
            host.kill_programs()
        try:
            self.stop()
            if self._has_figures:
                self._final = self.report()
                found = self._engine.opportunities()
                if self._trace is not None and found is not None:
                    self.opportunities = Opportunities.of(self._trace, found)
        finally:
            self._hosts = {}
            if self._outside is not None:
                self._outside.close()
            for host in hosts.values():
                host.close()
            if self._devices is not None:
                self._devices.close()
            # The engine's descriptors would keep devices and namespaces.
            del self._engine

    def _check(self) -> None:
        if self._hosts or not hasattr(self, "_engine"):
            raise EmulationError("an emulation runs once: make a new one")
        if not privileges.has_capabilities():
            raise NamespaceError("an emulation needs root, or a user namespace: run as root")
        absent = privileges.missing_tools(TOOLS)
        if absent:
            raise NamespaceError(absent)
        choose(self._asked_device)
        if self._gateway is not None:
            check_outside()

    def _build(self) -> None:
        self._devices = Devices(choose(self._asked_device), offload=self._offload)
        for node in self.plan.nodes:
            host = self._hosts[node.name] = Host(node, self.plan)
            host.prepare()
            device = self._devices.open(host)
            try:
                merges = self._devices.offload
                self._engine.attach(node.name, device, node.addresses, merges)
            finally:
                os.close(device)  # The engine has a descriptor of its own.
            host.configure()
            if self._back_pressure and not node.wired:
                self._hold_back(host)
        for name, file in self._pcap.items():
            self._engine.capture(name, file)
        if self._gateway is not None:
            self._engine.set_gateway(self._gateway)
            others = [host for name, host in self._hosts.items() if name != self._gateway]
            self._outside = Outside(self._hosts[self._gateway], others)
        self.host(self.plan.default.name).try_program()

    def _hold_back(self, host: Host) -> None:
        """Have packets of a station count against their sockets while the station has them."""
        ipv6 = host.node.address6 is not None
        queue, reason = back_pressure.begin(host.namespace, RING_PACKETS, ipv6=ipv6)
        if queue is None:
            self.without_back_pressure[host.name] = reason
            return
        try:
            self._engine.attach_queue(host.name, queue)
        finally:
            os.close(queue)

    def _run(self, duration_s: float | None, given_up: Callable[[], bool]) -> None:
        def follow() -> None:
            try:
                self._engine.run(duration_s, priority=True)
            except BaseException as error:
                self._failure = error
            self.ended = True
            self.on_end()

        self._thread = threading.Thread(target=follow, name="airqueue-emulation", daemon=True)
        self._thread.start()
        self._has_figures = True
        while self._thread.is_alive() and not self._engine.started:
            if given_up():
                self._engine.stop()
            time.sleep(_LOOK_S)
        if self._failure is not None:
            self.stop()


def emulate(
    scenario: Given,
    *,
    real: Sequence[str] = (),
    seed: int = 1,
    changes: Mapping[str, object] | None = None,
    back_pressure: bool = True,
    pcap: Mapping[str, str | os.PathLike[str]] | None = None,
    device: Device | None = None,
    offload: bool = True,
    outside: str | None = None,
    trace: str | None = None,
) -> EmulatedNetwork:
    """Return a network for a ``with`` statement, in which real programs can run.

    ``with emulate("home-evening") as net: net.host("phone").run(["ping", "-c", "3", "peer"])``;
    the arguments are those of `EmulatedNetwork`.
    """
    return EmulatedNetwork(
        scenario,
        real=real,
        seed=seed,
        changes=changes,
        back_pressure=back_pressure,
        pcap=pcap,
        device=device,
        offload=offload,
        outside=outside,
        trace=trace,
    )


def _checked(seed: int) -> int:
    """Return a seed that runs may have; raise EmulationError for any other."""
    try:
        return check_whole("seed", seed, 0, MOST_SEED)
    except ScenarioError as error:
        raise EmulationError(str(error)) from error


def _nodes(real: Sequence[str]) -> list[str]:
    if isinstance(real, str):
        raise EmulationError(f"real: {real!r} is a text; give a list of nodes, as in [{real!r}]")
    return list(real)


def _read(
    scenario: Given,
    changes: Mapping[str, object],
    *,
    others_real: bool,
) -> tuple[str, Scenario]:
    if not isinstance(scenario, str | os.PathLike):
        return "a scenario", Scenario.of(scenario, changes, others_real=others_real)
    name = os.fspath(scenario)
    return name, Scenario.from_toml(catalogue.path(name), changes, others_real=others_real)
