"""Prints what our distributions need of others, one requirement a line, from their pyproject.toml.

python scripts/requirements.py           # to be built
python scripts/requirements.py --core    # to use the core
python scripts/requirements.py --all     # to be built, used and tested
"""

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
OURS = re.compile(r"airqueue(?:-papers)?(?![\w-])(?:\[(?P<extras>[^]]*)\])?")


def main() -> None:
    """Print the requirements, each once."""
    library, papers = map(_described, (ROOT, ROOT / "papers"))
    found = [*library["build-system"]["requires"], *papers["build-system"]["requires"]]
    if "--core" in sys.argv[1:]:
        found = library["project"]["dependencies"]
    elif "--all" in sys.argv[1:]:
        needed = ["airqueue[dev]", *library["project"]["dependencies"]]
        needed += papers["project"]["dependencies"]
        found += _of_others(needed, library["project"]["optional-dependencies"])
    print(*dict.fromkeys(found), sep="\n")


def _described(folder: Path) -> dict[str, Any]:
    with (folder / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


def _of_others(needed: Sequence[str], extras: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield requirements; in place of one of ours with extras, what these need."""
    left = list(needed)
    while left:
        requirement = left.pop(0)
        ours = OURS.match(requirement)
        if ours is None:
            yield requirement
        elif ours["extras"]:
            left += [one for extra in ours["extras"].split(",") for one in extras.get(extra, [])]


main()
