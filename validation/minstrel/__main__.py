"""Measure the kernel's Minstrel-HT anew: `python -m validation.minstrel [--source TREE]`.

The file of the kernel, from Debian's `linux-source-6.1` unless a source tree is given, is compiled
together with `shim.h` and `link.c` (gcc). The results go to `minstrel_kernel.csv` among the data of
the tests of `airqueue-wifi`, where `minstrel_kernel.rs` puts ours beside them. Nothing of the
kernel's code is kept.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
RESULTS: Final = HERE.parents[1] / "crates/airqueue-wifi/tests/data/minstrel_kernel.csv"
PACKAGE: Final = "linux-source-6.1"
FILES: Final = ("rc80211_minstrel_ht.c", "rc80211_minstrel_ht.h")
HEADERS: Final = (
    "linux/bitfield.h",
    "linux/debugfs.h",
    "linux/ieee80211.h",
    "linux/limits.h",
    "linux/minmax.h",
    "linux/moduleparam.h",
    "linux/netdevice.h",
    "linux/random.h",
    "linux/skbuff.h",
    "linux/types.h",
    "net/mac80211.h",
    "rate.h",
    "sta_info.h",
)
"""What the kernel's file includes; here each is `shim.h`."""
LINKS: Final = (
    *(f"{snr}:10" for snr in (6, 10, 14, 18, 22, 26, 32)),
    "32:10 10:10 32:10",
    "26:10 14:10 26:10",
    "18:6 30:6",
    *(f"a {snr}:10" for snr in (6, 12, 18)),
    "a 26:10 8:10 26:10",
    *(f"b {snr}:10" for snr in (3, 8)),
    "b 14:10 3:10 14:10",
    *(f"{high}:0.03 {low}:0.03 x166" for high, low in ((26, 16), (32, 10))),
    *(f"s {snr}:10" for snr in (10, 22)),
)
"""Signal-to-noise ratios in dB, and for how many seconds; `x`: repeated. See link.c for letters."""
SEEDS: Final = 20


def run(*command: object, cwd: Path | None = None) -> str:
    """Return the output of a command. Raises SystemExit with what the command says if it fails."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise SystemExit(f"{words[0]} is missing; install it") from None
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def unpack(folder: Path) -> str:
    """Put the kernel's two files into a folder, from Debian's package; return its version."""
    run("apt-get", "download", PACKAGE, cwd=folder)
    package = next(folder.glob("*.deb"))
    run("dpkg", "-x", package, folder / "package")
    archive = next((folder / "package/usr/src").glob("*.tar.xz"))
    members = [f"{PACKAGE}/net/mac80211/{name}" for name in FILES]
    run("tar", "-xJf", archive, "-C", folder, "--strip-components=3", *members)
    return f"Linux {package.name.split('_')[1]} (Debian)"


def build(folder: Path) -> Path:
    """Compile the program beside the kernel's files in a folder."""
    for header in HEADERS:
        path = folder / header
        path.parent.mkdir(exist_ok=True)
        path.write_text('#include "shim.h"\n')
    program = folder / "link"
    sources = (folder / FILES[0], HERE / "link.c")
    run("gcc", "-O2", "-w", f"-I{folder}", f"-I{HERE}", "-o", program, *sources, "-lm")
    return program


def words(link: str) -> Sequence[str]:
    """Return the arguments of the program for a link, with repetitions written out."""
    steps, _, times = link.partition(" x")
    return steps.split() * int(times or 1)


def rows(program: Path, kernel: str) -> Iterator[Mapping[str, object]]:
    """Yield the goodput in each second of each link: mean over the seeds, and standard error."""
    for link in LINKS:
        runs: Sequence[Sequence[float]] = [
            [float(line) for line in run(program, seed, *words(link)).split()]
            for seed in range(1, SEEDS + 1)
        ]
        for second, goodputs in enumerate(zip(*runs, strict=False), 1):
            error = statistics.stdev(goodputs) / SEEDS**0.5
            yield {
                "link": link,
                "second": second,
                "goodput_mbps": f"{statistics.mean(goodputs):.3f}",
                "standard_error_mbps": f"{error:.3f}",
                "kernel": kernel,
            }


def main() -> None:
    """Read the arguments, measure, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, help="a source tree of the kernel")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.source:
            for kept in FILES:
                path = arguments.source / "net/mac80211" / kept
                if not path.exists():
                    sys.exit(f"{path} is missing; --source is a source tree of Linux 6.1")
                (folder / kept).write_text(path.read_text())
            kernel = arguments.source.name
        else:
            kernel = unpack(folder)
        measured = list(rows(build(folder), kernel))
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(measured[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(measured)


if __name__ == "__main__":
    main()
