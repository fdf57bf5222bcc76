"""Prometheus' text format, version 0.0.4: families of samples, each with its help and its type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Labels = Mapping[str, str]
Samples = Iterable[tuple[Labels, float]]


def counter(name: str, about: str, samples: Samples) -> str:
    """Return a family of counters; ``name`` is without ``airqueue_`` and ``_total``."""
    return family(f"{name}_total", "counter", about, samples)


def family(name: str, kind: str, about: str, samples: Samples) -> str:
    """Return a family; ``name`` is without ``airqueue_``."""
    name = f"airqueue_{name}"
    return family_head(name, kind, about) + "".join(sample(name, *each) for each in samples)


def family_head(name: str, kind: str, about: str) -> str:
    """Return the two lines before the samples of a family."""
    return f"# HELP {name} {about}\n# TYPE {name} {kind}\n"


def sample(name: str, labels: Labels, value: float) -> str:
    """Return the line of a sample."""
    inside = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
    return f"{name}{{{inside}}} {value}\n" if inside else f"{name} {value}\n"


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
