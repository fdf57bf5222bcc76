"""``python -m peers``: see the package's docstring."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .compare import CASES, as_json, compare, table
from .install import PEERS, UnavailableError, install
from .references import BUDGET_S, TABLE, Table, make_references
from .references_ampdu import TABLE as AMPDU_TABLE
from .references_mesh import TABLE as MESH_TABLE
from .references_sleep import TABLE as SLEEP_TABLE
from .references_tcp import TABLE as TCP_TABLE
from .run import run
from .scenario import SCHEMES, Cell, Edca, Radio

TABLES: dict[str, Table[Any, Any]] = {
    "mac": TABLE,
    "ampdu": AMPDU_TABLE,
    "tcp": TCP_TABLE,
    "mesh": MESH_TABLE,
    "sleep": SLEEP_TABLE,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m peers")
    commands = parser.add_subparsers(dest="command", required=True)
    add_peers(commands.add_parser("install", help="get the peers"))
    one = commands.add_parser("run", help="one cell in one peer, as JSON")
    one.add_argument("peer", choices=PEERS)
    add_cell_options(one)
    both = commands.add_parser("compare", help="figures and CPU time, as a table")
    add_peers(both)
    both.add_argument("--runs", type=int, default=1, help="seeds for each cell")
    both.add_argument("--json", type=Path, help="write the table to this file too")
    references = commands.add_parser("references", help="continue validation/references_*.csv")
    references.add_argument("table", nargs="?", choices=TABLES, default="mac")
    references.add_argument(
        "--budget", type=float, default=BUDGET_S, help=f"CPU seconds; default {BUDGET_S:g}"
    )
    args = parser.parse_args()
    try:
        return COMMANDS[args.command](args)
    except (UnavailableError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def add_peers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "peers", nargs="*", metavar="PEER", help=f"of {', '.join(PEERS)}; default all"
    )


def add_cell_options(parser: argparse.ArgumentParser) -> None:
    plain = Cell()
    for name in ("standard", "preamble", "layout"):
        parser.add_argument(f"--{name}", default=getattr(plain, name))
    for name in ("stations", "ip_bytes", "seed"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=getattr(plain, name))
    for name in ("data_mbps", "control_mbps", "seconds", "warm_up_s"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=getattr(plain, name))
    parser.add_argument("--radius-m", type=float, help="ns-2: of the circle, in place of 10 m")
    parser.add_argument("--rts", action="store_true")
    parser.add_argument("--edca", metavar="AIFSN:CWMIN:CWMAX:TXOP_US,...", default="")
    add_radio_options(parser.add_argument_group("802.11n, ac and ax"))
    parser.add_argument("--attempts", action="store_true", help="ns-2: count them; costs CPU time")


def add_radio_options(group: argparse._ArgumentGroup) -> None:
    plain = Radio()
    for name in ("mcs", "width_mhz", "streams", "ampdu_bytes", "window"):
        group.add_argument(f"--{name.replace('_', '-')}", type=int, default=getattr(plain, name))
    group.add_argument("--guard-us", type=float, default=plain.guard_us)
    group.add_argument("--no-explicit-bar", dest="explicit_bar", action="store_false")
    group.add_argument("--old-stations", type=int, default=0)
    group.add_argument("--mpdu-loss", type=float, default=0.0)


def run_command(args: argparse.Namespace) -> int:
    options = {name: value for name, value in vars(args).items() if name in Cell.__annotations__}
    if args.standard in SCHEMES:
        options["radio"] = Radio(**{name: getattr(args, name) for name in Radio.__annotations__})
    stations = [station.split(":") for station in args.edca.split(",") if station]
    options["edca"] = tuple(Edca(*map(int, numbers)) for numbers in stations)
    if stations:
        options["stations"] = len(stations)
    print(json.dumps(asdict(run(args.peer, Cell(**options), attempts=args.attempts))))
    return 0


def available(peers: list[str]) -> dict[str, Path]:
    """The programs of those peers that can be had; says what the matter is with the others."""
    programs: dict[str, Path] = {}
    for peer in peers or PEERS:
        try:
            programs[peer] = install(peer)
        except UnavailableError as error:
            print(f"{peer} is not to be had: {error}", file=sys.stderr)
    return programs


def install_command(args: argparse.Namespace) -> int:
    programs = available(args.peers)
    for peer, program in programs.items():
        print(f"{peer}: {program}")
    return 0 if len(programs) == len(args.peers or PEERS) else 1


def compare_command(args: argparse.Namespace) -> int:
    peers = list(available(args.peers))
    entries = compare(CASES, peers, runs=args.runs)
    print(table(entries))
    if args.json:
        args.json.write_text(json.dumps(as_json(entries), indent=1) + "\n", encoding="utf-8")
    return 0


def references_command(args: argparse.Namespace) -> int:
    make_references(args.budget, TABLES[args.table])
    return 0


COMMANDS = {
    "install": install_command,
    "run": run_command,
    "compare": compare_command,
    "references": references_command,
}

if __name__ == "__main__":
    sys.exit(main())
