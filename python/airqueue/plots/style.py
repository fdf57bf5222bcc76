"""The style of all pictures: restrained, repeatable byte for byte, fit for a paper."""

from __future__ import annotations

from typing import Any, Final

# Okabe and Ito's colours, which people with any colour vision tell apart, without yellow, which is
# too light for a line.
COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")

STYLE: Final[dict[Any, Any]] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same on every machine
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.limits": (-4, 6),
    "axes.formatter.use_mathtext": True,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": 7,
    "legend.title_fontsize": 7,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 3,
    "pdf.fonttype": 42,  # outlines, which journals ask for, not bitmaps
    "svg.fonttype": "path",
    "svg.hashsalt": "airqueue",
    "savefig.dpi": 300,
}
