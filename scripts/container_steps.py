"""Carries out the steps of a container file in a root directory, then runs its entry point.

    scripts/container_steps.py CONTAINERFILE CONTEXT ROOT [--env NAME=VALUE]... -- [ARGUMENT]...

ROOT takes the place of the base image and is changed. The variables of --env are there while RUN
runs, as build arguments would be. Arguments are those of the entry point; the exit code is the entry
point's. An instruction that this file does not know is an error: no step is passed over. Needs root.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO


class StepError(Exception):
    """A step that cannot be carried out, as a sentence."""


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield the instructions of a container file: the word in capitals, and what follows it."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        word, _, rest = line.strip().partition(" ")
        if word:
            yield word.upper(), " ".join(rest.split())


_SYSTEM = "/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass
class Image:
    """What the steps have made so far."""

    root: Path
    context: Path
    building: Mapping[str, str]
    """Variables that are there for RUN alone."""
    variables: dict[str, str] = field(
        default_factory=lambda: {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    )
    user: str = "root"
    folder: str = "/"
    entry: list[str] = field(default_factory=list)
    default: list[str] = field(default_factory=list)

    def step(self, word: str, rest: str) -> None:
        """Carry out one instruction. Raises StepError."""
        match word:
            case "FROM" | "EXPOSE":
                pass  # The root is the image; ports are for who reads the file.
            case "RUN":
                # What steps say is no result: that is the entry point's alone.
                if self.run(["/bin/sh", "-c", rest], self.building, sys.stderr):
                    raise StepError(f"the step RUN {rest} failed; its own message is above")
            case "COPY":
                self.copy(rest)
            case "ENV":
                self.variables |= dict(each.split("=", 1) for each in shlex.split(rest))
            case "WORKDIR":
                self.folder = rest
                (self.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
            case "USER":
                self.user = rest
            case "ENTRYPOINT":
                self.entry = json.loads(rest)
            case "CMD":
                self.default = json.loads(rest)
            case _:
                raise StepError(f"the instruction {word} is not known here; add it to {__file__}")

    def copy(self, rest: str) -> None:
        """Copy files of the context to a folder. Raises StepError."""
        *patterns, place = shlex.split(rest)
        folder = self.root / place.lstrip("/")
        folder.mkdir(parents=True, exist_ok=True)
        for pattern in patterns:
            found = sorted(self.context.glob(pattern))
            if not found:
                raise StepError(f"COPY: {self.context} has no {pattern}; build it first")
            for path in found:
                shutil.copy(path, folder)

    def run(
        self, command: Sequence[str], more: Mapping[str, str], said: TextIO | None = None
    ) -> int:
        """Run a program in the root, without this machine's environment; return its exit code.

        Its standard output goes to ``said``, or to ours.
        """
        given = [f"{name}={value}" for name, value in {**self.variables, **more}.items()]
        # The folder is the user's choice inside the root, so a shell there changes to it.
        inside = [
            "/usr/bin/env",
            "-i",
            *given,
            "/bin/sh",
            "-c",
            'cd "$0" && exec "$@"',
            self.folder,
        ]
        separate = ["unshare", "--mount", "--pid", "--fork", f"--mount-proc={self.root}/proc"]
        changed = ["chroot", f"--userspec={self.user}", str(self.root)]
        words = [*separate, *changed, *inside, *command]
        return subprocess.run(words, stdout=said, check=False).returncode


def main() -> int:
    """Read the arguments, carry out the steps, and run the entry point."""
    parser = argparse.ArgumentParser(
        description="Carries out a container file in a root directory."
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("context", type=Path)
    parser.add_argument("root", type=Path)
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    own = sys.argv[1:]
    arguments = []
    if "--" in own:
        own, arguments = own[: own.index("--")], own[own.index("--") + 1 :]
    given = parser.parse_args(own)
    building = dict(each.split("=", 1) for each in given.env)
    image = Image(given.root.resolve(), given.context, building)
    try:
        for word, rest in instructions(given.file.read_text("utf-8")):
            print(f"container: {word} {rest}", file=sys.stderr)
            image.step(word, rest)
    except (StepError, OSError, ValueError) as error:
        sys.exit(f"container: {given.file}: {error}")
    return image.run([*image.entry, *(arguments or image.default)], {})


if __name__ == "__main__":
    sys.exit(main())
