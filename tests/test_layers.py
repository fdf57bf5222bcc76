"""Dependencies point downwards only: the rows of ARCHITECTURE.md, read from ``cargo metadata``, from
the imports of the Python files, and from the strings in them that name modules."""

import ast
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# What each crate may depend on among the project's own. A new crate needs a line here and a row in
# ARCHITECTURE.md. State machines do not know each other; only the event loop binds them, and only
# the shells (host, python) stand above it.
MAY_USE = {
    "airqueue-core": set(),
    "airqueue-qdisc": {"airqueue-core"},
    "airqueue-probe": {"airqueue-core"},
    "airqueue-wifi": {"airqueue-core"},
    "airqueue-transport": {"airqueue-core"},
    "airqueue-network": {"airqueue-core", "airqueue-qdisc", "airqueue-transport", "airqueue-wifi"},
    "airqueue-scenario": {
        "airqueue-core",
        "airqueue-qdisc",
        "airqueue-probe",
        "airqueue-transport",
        "airqueue-wifi",
        "airqueue-network",
    },
    "airqueue-host": {"airqueue-core", "airqueue-probe", "airqueue-network"},
    "airqueue-python": {
        "airqueue-core",
        "airqueue-qdisc",
        "airqueue-probe",
        "airqueue-wifi",
        "airqueue-transport",
        "airqueue-network",
        "airqueue-scenario",
        "airqueue-host",
    },
}

# Crates that reach the operating system: only a shell may name them.
OS_CRATES = {"nix", "libc", "rustix", "socket2", "tokio", "mio", "clap", "tun-rs"}
PYTHON_CRATES = {"pyo3", "numpy"}
SHELLS = {"airqueue-host", "airqueue-python"}


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
    own = {name for name in used if name.startswith("airqueue-")}
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
    "sweep": {"sweep", "runs", "simulate"},
    "runs": {"runs", "models", "measure"},
    "papers": {"papers", "runs", "simulate", "sizing", "models", "measure", "linux"},
    "plots": {"plots", "papers", "runs", "sweep", "simulate", "models"},
    "linux": {"linux", "measure"},
    "report": {"report", "measure", "papers", "plots", "runs", "simulate"},
}
PACKAGE = ROOT / "python" / "airqueue"


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


NAMED = re.compile(r"\bairqueue((?:\.[a-z_]\w*)+)")
"""The name of a module, as importlib, resources, other processes and kinds of work get one."""


def named(path: Path) -> set[str]:
    """Names of all project modules in the strings of a file, ``airqueue.`` left off.

    Of an f-string what stands before a field; what a docstring names is no dependency.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    strings = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    ]
    return {match[1].removeprefix(".") for each in strings for match in NAMED.finditer(each)}


def used_packages(path: Path) -> set[str]:
    """Packages of the project that a file names, in imports and in strings."""
    return {name.split(".")[0] for name in imported(path) | named(path)}


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("from airqueue_papers.apq import path", {"papers.apq.path"}),
        ("import airqueue.plots.parts as parts", {"plots.parts"}),
        ('KINDS = {"figure": "airqueue_papers.figure_work:figure"}', {"plots.figure_work"}),
        ('importlib.import_module(f"airqueue_papers.{name}")', {"papers"}),
        ('run([python, "-c", "from airqueue.report import page"])', {"report"}),
        ('"""About airqueue_papers, in words."""', set()),
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


@pytest.mark.parametrize("directory", ["python", "peers"])
def test_what_holds_the_project_against_others_is_above_it(directory: str) -> None:
    above = {"validation", "benches"} | ({"peers"} if directory == "python" else set())
    for path in (ROOT / directory).rglob("*.py"):
        used = {name.split(".")[0] for name in imports(path)}
        assert not used & above, f"{path.relative_to(ROOT)} may not import {used & above}"
