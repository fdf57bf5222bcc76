"""Dependencies point downwards only: the rows of ARCHITECTURE.md, read from ``cargo metadata``, from
the imports of the Python files, and from the strings in them that name modules."""

import ast
import functools
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# What each crate may depend on among the project's own. A new crate needs a line here and a row in
# ARCHITECTURE.md. State machines do not know each other; only the event loop binds them, and only
# the shells (host, daemon, python) stand above it.
MAY_USE = {
    "airqueue-core": set(),
    "airqueue-qdisc": {"airqueue-core"},
    "airqueue-probe": {"airqueue-core"},
    "airqueue-wifi": {"airqueue-core"},
    "airqueue-control": {"airqueue-core"},
    "airqueue-transport": {"airqueue-core"},
    "airqueue-network": {"airqueue-core", "airqueue-qdisc", "airqueue-transport", "airqueue-wifi"},
    "airqueue-scenario": {
        "airqueue-core",
        "airqueue-qdisc",
        "airqueue-transport",
        "airqueue-wifi",
        "airqueue-network",
    },
    "airqueue-path": {
        "airqueue-core",
        "airqueue-qdisc",
        "airqueue-probe",
        "airqueue-transport",
        "airqueue-wifi",
        "airqueue-network",
        "airqueue-scenario",
    },
    "airqueue-emulator": {
        "airqueue-core",
        "airqueue-wifi",
        "airqueue-network",
        "airqueue-scenario",
    },
    "airqueue-ring": set(),
    "airqueue-host": {
        "airqueue-core",
        "airqueue-probe",
        "airqueue-ring",
        "airqueue-network",
        "airqueue-scenario",
        "airqueue-emulator",
    },
    "airqueued": {"airqueue-core", "airqueue-control", "airqueue-ring", "airqueue-wifi"},
    # Takes the files of two command lines, not their crates.
    "airqueue-manual": {"airqueue-core", "airqueue-probe"},
    "airqueue-python": {
        "airqueue-core",
        "airqueue-control",
        "airqueue-qdisc",
        "airqueue-probe",
        "airqueue-wifi",
        "airqueue-transport",
        "airqueue-network",
        "airqueue-scenario",
        "airqueue-path",
        "airqueue-emulator",
        "airqueue-host",
    },
}

# Crates that reach the operating system: only a shell may name them.
OS_CRATES = {
    "nix",
    "getrandom",
    "libc",
    "rustix",
    "socket2",
    "tokio",
    "mio",
    "clap",
    "tun-rs",
    "netlink-sys",
}
PYTHON_CRATES = {"pyo3", "numpy"}
SHELLS = {"airqueue-host", "airqueue-manual", "airqueue-python", "airqueue-ring", "airqueued"}


@pytest.fixture(scope="module")
def dependencies() -> dict[str, dict[str, set[str]]]:
    """Direct dependencies of each workspace crate, by kind: "normal", "dev", "build"."""
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("cargo is not on PATH")
    listing = subprocess.run(
        [cargo, "metadata", "--format-version=1", "--no-deps", "--locked"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    crates: dict[str, dict[str, set[str]]] = {}
    for package in json.loads(listing.stdout)["packages"]:
        kinds = crates.setdefault(package["name"], {"normal": set(), "dev": set(), "build": set()})
        for dependency in package["dependencies"]:
            kinds[dependency["kind"] or "normal"].add(dependency["name"])
    return crates


def test_every_crate_has_a_row(dependencies: dict[str, dict[str, set[str]]]) -> None:
    assert set(dependencies) == set(MAY_USE)


@pytest.mark.parametrize("crate", sorted(MAY_USE))
def test_dependencies_point_downwards(
    dependencies: dict[str, dict[str, set[str]]], crate: str
) -> None:
    used = set().union(*dependencies[crate].values())
    own = {name for name in used if name.startswith("airqueue")}
    assert own <= MAY_USE[crate], f"{crate} may not use {sorted(own - MAY_USE[crate])}"


@pytest.mark.parametrize("crate", sorted(set(MAY_USE) - SHELLS))
def test_below_the_shells_nothing_touches_the_system(
    dependencies: dict[str, dict[str, set[str]]], crate: str
) -> None:
    used = dependencies[crate]["normal"] | dependencies[crate]["build"]
    assert not used & OS_CRATES


def test_only_the_bindings_know_python(dependencies: dict[str, dict[str, set[str]]]) -> None:
    for crate, kinds in dependencies.items():
        if crate != "airqueue-python":
            assert not set().union(*kinds.values()) & PYTHON_CRATES, crate


def test_the_rows_themselves_have_no_cycle() -> None:
    order: list[str] = []
    left = {crate: set(uses) for crate, uses in MAY_USE.items()}
    while left:
        free = [crate for crate, uses in left.items() if uses <= set(order)]
        assert free, f"a cycle among {sorted(left)}"
        order += free
        for crate in free:
            del left[crate]


# The same for Python: what each package may import of the project. `cli` binds everything, so it is
# absent; the modules directly in `airqueue` (units, text, ...) are below all packages.
MAY_IMPORT = {
    "measure": {"measure"},
    "models": {"models"},
    "sizing": {"sizing", "models"},
    "simulate": {"simulate", "runs", "sizing", "models"},
    "trials": {"trials", "simulate", "sizing", "models"},
    "sweep": {"sweep", "runs", "simulate"},
    "gym": {"gym", "simulate"},
    "runs": {"runs", "models", "measure"},
    "uploads": {"uploads", "measure", "models"},
    "plots": {"plots", "sweep", "simulate", "models"},
    "linux": {"linux", "measure"},
    "emulate": {"emulate", "linux", "simulate"},
    "diagnose": {"diagnose", "measure", "sizing", "models"},
    "report": {"report", "measure", "emulate", "diagnose", "simulate"},
    "testing": {"testing", "emulate"},
}
PACKAGE = ROOT / "python" / "airqueue"
PAPERS = ROOT / "papers" / "airqueue_papers"
"""A distribution of its own, above the library."""
SHOWING = ("site", "drawing", "figure_work", "command", "command_progress", "command_tables")
"""Modules of the papers that show what the others found."""


@functools.cache
def imports(path: Path) -> set[str]:
    """Names of all modules that a file imports; of ``from a.b import x`` the name is that of x."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def imported(path: Path) -> set[str]:
    """Names of the project's modules that a file imports, ``airqueue.`` left off."""
    found = imports(path)
    return {name.removeprefix("airqueue.") for name in found if name.startswith("airqueue.")}


@functools.cache
def strings(path: Path) -> list[str]:
    """All strings of a file but docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    ]


NAMED = re.compile(r"\bairqueue((?:\.[a-z_]\w*)+)")
"""The name of a module, as importlib, resources, other processes and kinds of work get one."""


def named(path: Path) -> set[str]:
    """Names of all project modules in the strings of a file, ``airqueue.`` left off.

    Of an f-string what stands before a field; what a docstring names is no dependency.
    """
    found = (match[1] for each in strings(path) for match in NAMED.finditer(each))
    return {name.removeprefix(".") for name in found}


def used_packages(path: Path) -> set[str]:
    """Packages of the project that a file names, in imports and in strings."""
    return {name.split(".")[0] for name in imported(path) | named(path)}


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("from airqueue.sizing.settings import acks", {"sizing.settings.acks"}),
        ("import airqueue.plots.parts as parts", {"plots.parts"}),
        ('KINDS = {"model": "airqueue.runs.model:model"}', {"runs.model"}),
        ('importlib.import_module(f"airqueue.models.{name}")', {"models"}),
        ('run([python, "-c", "from airqueue.report import page"])', {"report"}),
        ('"""About airqueue.models, in words."""', set()),
    ],
)
def test_imports_and_strings_are_seen(tmp_path: Path, line: str, names: set[str]) -> None:
    path = tmp_path / "module.py"
    path.write_text(line, encoding="utf-8")
    assert imported(path) | named(path) == names


def test_no_string_hides_the_package_that_it_names() -> None:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            parts = node.values if isinstance(node, ast.JoinedStr) else []
            if isinstance(node, ast.BinOp):
                parts = [node.left]
            hidden = [part for part in parts if getattr(part, "value", None) == "airqueue."]
            assert not hidden, f"{path.relative_to(ROOT)}:{node.lineno}: name the package itself"


@pytest.mark.parametrize("package", sorted(MAY_IMPORT))
def test_python_packages_keep_their_rows(package: str) -> None:
    others = {path.parent.name for path in PACKAGE.glob("*/__init__.py")} - MAY_IMPORT[package]
    for path in (PACKAGE / package).rglob("*.py"):
        used = used_packages(path)
        assert not used & others, f"{path.relative_to(ROOT)} may not use {used & others}"


def test_modules_outside_packages_are_below_all_of_them() -> None:
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    for path in PACKAGE.glob("[!_]*.py"):
        used = used_packages(path)
        assert not used & packages, f"{path.name} may not use {used & packages}"


def test_the_test_bed_knows_no_estimator() -> None:
    for path in (PACKAGE / "linux").rglob("*.py"):
        names = imported(path) | named(path)
        assert not any(name.startswith("measure.estimators") for name in names), path


def of_papers(path: Path) -> set[str]:
    """Modules of the papers' distribution that a file names, in imports and in strings."""
    text = "\n".join([*imports(path), *strings(path)])
    return set(re.findall(r"\bairqueue_papers\b(?:\.(\w+))?", text))


def test_the_library_does_not_know_the_papers() -> None:
    for path in PACKAGE.rglob("*.py"):
        assert not of_papers(path), f"{path.relative_to(ROOT)} may not use the papers"


def test_the_papers_find_and_others_show() -> None:
    assert {path.stem for path in PAPERS.iterdir()} >= {*SHOWING}
    for path in PAPERS.rglob("*.py"):
        part = path.relative_to(PAPERS).parts[0].removesuffix(".py")
        if part not in SHOWING:
            used = of_papers(path) & {*SHOWING}
            assert not used, f"{path.relative_to(ROOT)} may not use {used}"
        if not part.startswith("command"):
            names = used_packages(path) & {"cli"}
            assert not names, f"{path.relative_to(ROOT)} may not use the command"


@pytest.mark.parametrize("directory", ["python", "papers", "peers"])
def test_what_holds_the_project_against_others_is_above_it(directory: str) -> None:
    above = {"validation", "benches"} | (set() if directory == "peers" else {"peers"})
    for path in (ROOT / directory).rglob("*.py"):
        used = {name.split(".")[0] for name in imports(path)}
        assert not used & above, f"{path.relative_to(ROOT)} may not import {used & above}"
