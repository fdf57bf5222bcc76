"""Errors of what is built from network namespaces: one sentence each, which says what to do."""

from __future__ import annotations


class NamespaceError(Exception):
    """Network namespaces cannot be made, entered or filled here."""


class HostApError(NamespaceError):
    """A failure of the test bed."""


class MachineError(Exception):
    """User-mode Linux has ended before its work was done; the message is one sentence."""


class MachineUnavailableError(MachineError):
    """User-mode Linux cannot run here; the message is one sentence that says what to do."""
