"""The kinds of work of the papers: each is registered by its own module, for any process."""

import pytest

from airqueue.runs import Local, Work, execute, kinds
from airqueue_papers import emulation, figure_work
from airqueue_papers.apq import host_ap, path
from test_layers import PACKAGE, imported

CHANGES_NO_NUMBER = {
    *("files", "provenance", "records", "scratch", "toml_text", "text"),
    *("description", "description_words", "figures", "lazy", "monitored", "prometheus", "runs"),
    "callable_module",
}
"""Modules that packages of kinds use for words, files, types, origins, and who works alone."""
OF_PACKAGES = {
    "apq-session": path.session,
    "host-ap": host_ap.host_ap,
    "figure": figure_work.figure,
    "kernel-tcp": emulation.transfers,
}


@pytest.mark.parametrize("name", OF_PACKAGES)
def test_a_request_names_the_function_that_was_registered(name):
    assert kinds.function_of(kinds.find(name).function) is OF_PACKAGES[name]


@pytest.mark.parametrize("name", ["apq-session", "host-ap", "kernel-tcp"])
def test_a_kind_stands_on_all_that_its_packages_import(name):
    packages = {
        each.removeprefix("airqueue.")
        for each in kinds.find(name).packages
        if each.startswith("airqueue.")
    }
    files = [path for package in packages for path in (PACKAGE / package).rglob("*.py")]
    used = {each.split(".")[0] for path in files for each in imported(path)}
    ours = {path.stem for path in PACKAGE.glob("[!_]*")}
    assert used & ours <= {*packages, *CHANGES_NO_NUMBER}


def test_a_process_that_never_imported_the_kind_carries_it_out():
    network = path.access_point(30)
    work = Work("apq-session", {"path": network, "rate_pps": 600, "size_bytes": 1500, "seed": 1})
    (found,) = execute([work], None, Local(1)).values()
    assert found == path.session(work.inputs)
