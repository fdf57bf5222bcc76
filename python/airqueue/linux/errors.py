"""Errors of what is built from network namespaces: one sentence each, which says what to do."""

from __future__ import annotations


class NamespaceError(Exception):
    """Network namespaces cannot be made, entered or filled here."""


class HostApError(NamespaceError):
    """A failure of the test bed."""
