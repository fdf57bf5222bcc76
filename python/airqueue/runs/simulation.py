"""Work of the kind ``simulation``: one replication of a scenario."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

from airqueue.simulate import Scenario


def simulation(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of one replication, as `Results.runs` has them.

    ``scenario``: the description; ``seed`` and ``replication`` as for `Scenario.simulate`.
    """
    scenario = _checked(json.dumps(inputs["scenario"]))
    return scenario.replicate(inputs["seed"], inputs["replication"])


@functools.lru_cache(maxsize=4)
def _checked(description: str) -> Scenario:
    """Return a scenario; the replications of one follow each other."""
    return Scenario(json.loads(description))
