"""What simulations say of uploads and downloads: figures for `airqueue.sizing.edca_advice`."""

from __future__ import annotations

from dataclasses import dataclass

from airqueue.sizing.advice import Column, Figure, Settings, Table
from airqueue.sizing.edca import ACK_CATEGORY, EdcaSizing
from airqueue.sizing.settings import scenario, two_way
from airqueue.sizing.settings.two_way import TwoWay
from airqueue.text import rate


@dataclass(frozen=True, slots=True)
class TriedAccess:
    """What flows get, simulated; half widths are of 95 % intervals. None of a kind: no such flow."""

    upload_bps: float | None
    upload_half_width_bps: float | None
    download_bps: float | None
    download_half_width_bps: float | None
    jain_index: float
    """Of all flows' goodputs."""


@dataclass(frozen=True, slots=True)
class EdcaTrial:
    """Plain 802.11 beside the settings, in the same cell."""

    plain: TriedAccess
    settings: TriedAccess
    replications: int

    def table(self) -> Table:
        """Return both side by side."""
        plain, settings = self.plain, self.settings
        rows = (
            ("one upload", "upload_bps", "upload_half_width_bps"),
            ("one download", "download_bps", "download_half_width_bps"),
        )
        return Table(
            "simulated",
            f"Simulated, {self.replications} times {two_way.DURATION_S:g} s, with TCP like Linux's: "
            "goodput",
            (
                Column("what", "of"),
                Column("default_bps", "plain 802.11"),
                Column("default_half_width_bps", "±"),
                Column("settings_bps", "with the settings"),
                Column("settings_half_width_bps", "±"),
            ),
            tuple(
                (name, *(getattr(each, field) for each in (plain, settings) for field in fields))
                for name, *fields in rows
                if getattr(plain, fields[0]) is not None
            ),
        )

    def figures(self) -> tuple[Figure, ...]:
        """Return how fair the settings are."""
        return (
            Figure(
                "simulated_jain_index",
                "Jain's index, simulated",
                round(self.settings.jain_index, 3),
                f"of what all flows get; {self.plain.jain_index:.3f} with plain 802.11",
            ),
        )

    @property
    def slows_uploads(self) -> bool:
        """Whether uploads alone get less with the settings than without, beyond the intervals."""
        plain, settings = self.plain, self.settings
        if (
            plain.download_bps is not None
            or plain.upload_bps is None
            or settings.upload_bps is None
        ):
            return False
        margin = (plain.upload_half_width_bps or 0.0) + (settings.upload_half_width_bps or 0.0)
        return settings.upload_bps + margin < plain.upload_bps

    def found(self) -> str:
        """Say what flows get with the settings, and without."""
        plain, settings = self.plain, self.settings
        said = [
            f"{name} gets {rate(with_settings)} instead of {rate(without)}"
            for name, with_settings, without in (
                ("a download", settings.download_bps, plain.download_bps),
                ("an upload", settings.upload_bps, plain.upload_bps),
            )
            if with_settings is not None and without is not None
        ]
        return f"Simulated, {', and '.join(said)}."


def scenarios(sized: EdcaSizing) -> tuple[Settings, Settings]:
    """Return the cell with plain 802.11, and with the settings."""
    cell = TwoWay(
        layer=sized.cell.phy,
        rate_bps=sized.cell.rates_bps[0],
        packet_bytes=sized.cell.packet_bytes,
        uploads=sized.uploads,
        downloads=sized.downloads,
    )
    access = scenario.channel_access(sized.stations, sized.access_point)
    return two_way.settings(cell), two_way.settings(cell, access, ACK_CATEGORY)
