"""The advice of `airqueue size edca`: the numbers of `airqueue.sizing.edca` in words and settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from airqueue.models import edca_fairness
from airqueue.models.edca_fairness import AccessClass, Fairness, acks_pass_freely, tcp_fairness
from airqueue.sizing.advice import Advice, Alternative, Column, Figure, Table, Value, not_simulated
from airqueue.sizing.cell import ACK_EVERY
from airqueue.sizing.edca import ACK_CATEGORY, EdcaSizing
from airqueue.sizing.edca_follow import access_rows, most_packets
from airqueue.sizing.edca_trial import EdcaTrial, scenarios
from airqueue.sizing.edca_values import (
    DURATION_LIMIT_S,
    ETSI_AP_VIDEO_CW_MIN,
    ETSI_TXOP_S,
    TXOP_UNIT_S,
    EdcaValues,
)
from airqueue.sizing.settings import airqueued, hostapd, linux, openwrt
from airqueue.sizing.settings.acks import Mark
from airqueue.sizing.settings.hostapd import Category
from airqueue.text import percent, plural, rate, seconds

ACK_BYTES: Final = 80
"""IPv4 packets up to this length count as acknowledgements: headers with all options."""

ALREADY_FAIR: Final = 0.999
"""Least over most share from which on plain 802.11 is fair enough."""
_SHARES: Final = (
    ("one upload", "upload_share"),
    ("one download", "download_share"),
    ("all downloads", "downloads_share"),
)


def edca_advice(
    sized: EdcaSizing,
    *,
    device: str,
    radio: str,
    mark: Mark,
    ack_bytes: int = ACK_BYTES,
    longest_packets: int | None = None,
    trial: EdcaTrial | None = None,
    untried: str | None = None,
) -> Advice:
    """Return the advice for settings that `airqueue.sizing.edca.size_edca` chose.

    device: of access point and stations in the rules. radio: UCI section of the access point's radio.
    mark: how rules mark acknowledgements. ack_bytes: what counts as one. longest_packets: the most
    packets of a TXOP in the configuration of `airqueued`; not given: what the band allows. trial:
    what simulations say; untried: why there is none, where one would be expected.
    """
    longest = most_packets(sized) if longest_packets is None else longest_packets
    rows = access_rows(sized.uploads, sized.downloads, longest, int(sized.cell.phy.cw_max))
    return Advice(
        what="edca",
        inputs={
            "uploads": sized.uploads,
            "downloads": sized.downloads,
            "phy": sized.cell.phy.name,
            "rate_bps": sized.cell.rates_bps[0],
            "packet_bytes": sized.cell.packet_bytes,
            "mark": mark,
            "ack_bytes": ack_bytes,
        },
        headline=_headline(sized, trial) + ("" if trial is None else f" {trial.found()}"),
        figures=(*_figures(sized, ack_bytes), *(() if trial is None else trial.figures())),
        tables=(_classes(sized), _shares(sized), *(() if trial is None else (trial.table(),))),
        alternatives=_alternatives(sized),
        cautions=tuple(_cautions(sized, trial, untried)),
        # Only what agrees with the headline.
        settings=()
        if leaves(sized) or (trial is not None and trial.slows_uploads)
        else (
            hostapd.settings(sized.stations, sized.access_point, device),
            openwrt.edca(radio, sized.stations, sized.access_point),
            openwrt.ack_rules(device, ack_bytes, mark),
            *linux.ack_rules(device, ack_bytes, mark),
            airqueued.edca(device, sized, longest, rows),
            scenarios(sized)[1],
        ),
    )


def leaves(sized: EdcaSizing) -> bool:
    """Return whether the defaults are left: all flows go one way, and no acknowledgement is lost."""
    through = float(sized.default.acks_per_packet) * ACK_EVERY
    return not sized.uploads or (not sized.downloads and through > ALREADY_FAIR)


def _by_default(sized: EdcaSizing) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the least and the most of the data packets that a download and an upload get.

    The access point wins the air as often as one upload. The least of downloads: all acknowledgements
    of the uploads pass, one for `ACK_EVERY` packets, and downloads get what is left of its wins. The
    most: none passes. Shares in between depend on what the access point's full queue drops.
    """
    left = max(0.0, 1.0 - sized.uploads / ACK_EVERY)
    least = left / (sized.uploads + left) / sized.downloads
    most = 1.0 / (sized.uploads + left)
    default = sized.default
    return (least, float(default.download_share)), (float(default.upload_share), most)


def _headline(sized: EdcaSizing, trial: EdcaTrial | None) -> str:
    default = sized.default
    if not sized.uploads:
        return (
            f"{plural(sized.downloads, 'download')} and no upload: all data waits in one queue, "
            "which shares it out; EDCA has nothing to mend."
        )
    if sized.downloads:
        return _unfair_headline(sized)
    shared = (
        f"plain 802.11 gives each flow {percent(float(default.upload_share))} of the data packets"
    )
    if trial is not None and trial.slows_uploads:
        return (
            f"Leave EDCA at its defaults: {shared} already, and the settings make uploads alone "
            "slower."
        )
    if leaves(sized):
        return (
            f"Leave EDCA at its defaults: {shared} already, and lets all acknowledgements through."
        )
    through = float(default.acks_per_packet) * ACK_EVERY
    return (
        f"Let acknowledgements pass first: {shared} already, but lets at most {percent(through)} of "
        "the uploads' acknowledgements through, which holds back uploads with small windows."
    )


def _unfair_headline(sized: EdcaSizing) -> str:
    scheme = sized.scheme
    download, upload = (" to ".join(map(percent, between)) for between in _by_default(sized))
    alone = "For frames sent one at a time, without aggregation: l" if _aggregates(sized) else "L"
    return (
        f"{alone}et acknowledgements pass first and the access point send "
        f"{plural(sized.txop.packets, 'packet')} when it wins: "
        f"{_each(sized.downloads, 'download')} then gets {percent(float(scheme.download_share))} of "
        f"the data packets instead of {download}, {_each(sized.uploads, 'upload')} "
        f"{percent(float(scheme.upload_share))} instead of {upload}."
    )


def _each(count: int, noun: str) -> str:
    return f"the {noun}" if count == 1 else f"each of {count} {noun}s"


def _aggregates(sized: EdcaSizing) -> bool:
    """Return whether real stations of this layer send aggregates, which the settings do not know."""
    return sized.cell.phy.max_mpdus > 1


def _figures(sized: EdcaSizing, ack_bytes: int) -> tuple[Figure, ...]:
    flows = sized.uploads + sized.downloads
    acks = edca_fairness.AP_ACKS
    return (
        *_txop_figures(sized),
        Figure(
            "data_aifs_slots",
            "AIFS of data, in slots",
            edca_fairness.STATION_DATA.aifs_slots,
            f"the access point's acknowledgements, with backoffs of at most {acks.cw_min} slots, "
            f"{'always' if acks_pass_freely() else 'mostly'} go before it",
        ),
        Figure(
            "ack_bytes",
            "acknowledgements are up to",
            ack_bytes,
            "IPv4 packets of TCP without SYN, FIN, RST; IPv6 20 bytes more",
        ),
        Figure(
            "goodput_bps",
            "goodput of a flow, about",
            sized.cell.goodput_bps / flows,
            "what TCP gets in this cell, shared equally",
        ),
        Figure(
            "jain_index",
            "Jain's index",
            round(float(sized.scheme.jain_index), 3),
            f"of all flows' shares; {float(sized.default.jain_index):.3f} with plain 802.11",
        ),
    )


def _txop_figures(sized: EdcaSizing) -> tuple[Figure, ...]:
    txop = sized.txop
    return (
        Figure("txop_packets", "packets of a TXOP", txop.packets, "one for each download"),
        Figure(
            "step_us",
            "one packet in it",
            txop.step_s * 1e6,
            f"frame, SIFS, acknowledgement, SIFS: {sized.cell.packet_bytes:g} bytes at "
            f"{rate(sized.cell.rates_bps[0])}, {sized.cell.phy.name}",
        ),
        Figure(
            "txop_us",
            "TXOP needed",
            txop.need_s * 1e6,
            "N times that, without the last SIFS; 0 means one packet",
        ),
        Figure(
            "txop_units",
            "in units of 32 µs",
            round(txop.set_s / TXOP_UNIT_S),
            f"what hostapd makes of burst={hostapd.burst(txop.need_s)} (ms): "
            f"room for {plural(txop.admitted, 'packet')}",
        ),
    )


def _classes(sized: EdcaSizing) -> Table:
    scheme = edca_fairness
    stations, own = sized.stations, {k: values for k, (values, _) in sized.access_point.items()}
    data = Category.BEST_EFFORT
    return Table(
        "classes",
        "Settings: AIFS above DIFS, windows in values and as CWmin, TXOP in packets and in 32 µs",
        (
            Column("node", "node"),
            Column("traffic", "traffic"),
            Column("category", "AC"),
            Column("aifs_slots", "AIFS"),
            Column("aifsn", "AIFSN"),
            Column("cw_min_values", "values"),
            Column("ecw_min", "k"),
            Column("cw_min", "CWmin"),
            Column("txop_packets", "TXOP"),
            Column("txop_units", "32 µs"),
        ),
        (
            _row("AP", "upload ACKs", ACK_CATEGORY, scheme.AP_ACKS, own),
            (*_row("AP", "download data", data, scheme.AP_DATA, own)[:-2],
             sized.txop.packets, round(sized.txop.set_s / TXOP_UNIT_S)),
            _row("station", "download ACKs", ACK_CATEGORY, scheme.STATION_ACKS, stations),
            _row("station", "upload data", data, scheme.STATION_DATA, stations),
            _row("both", "CS1 data", Category.BACKGROUND, None, stations),
        ),
    )  # fmt: skip


def _row(
    node: str,
    traffic: str,
    category: Category,
    given: AccessClass | None,
    values: Mapping[Category, EdcaValues],
) -> tuple[Value, ...]:
    coded = values[category]
    return (
        node,
        traffic,
        category.value.upper(),
        coded.aifsn - 2 if given is None else given.aifs_slots,
        coded.aifsn,
        coded.cw_min + 1,
        coded.ecw_min,
        coded.cw_min,
        1,
        coded.txop_units,
    )


def _shares(sized: EdcaSizing) -> Table:
    def value(fair: Fairness, field: str) -> float:
        return float(getattr(fair, field))

    rows: list[tuple[Value, ...]] = [
        (name, value(sized.default, field), value(sized.scheme, field)) for name, field in _SHARES
    ]
    through = [ACK_EVERY * value(fair, "acks_per_packet") for fair in (sized.default, sized.scheme)]
    # At most: the access point's wins are all counted for them, although its downloads need some.
    rows.append(("upload ACKs through, at most", *through))
    rows.append(
        ("least over most", *(value(f, "min_max_ratio") for f in (sized.default, sized.scheme)))
    )
    return Table(
        "shares",
        "Predicted shares of the data packets",
        (
            Column("what", "of"),
            Column("default_fraction", "plain 802.11"),
            Column("settings_fraction", "with the settings"),
        ),
        tuple(rows),
    )


def _alternatives(sized: EdcaSizing) -> tuple[Alternative, ...]:
    found = []
    if sized.uploads and sized.downloads > 1:
        alone = tcp_fairness(
            sized.uploads, sized.downloads, scheme="edca", ap_packets=1, ack_every=ACK_EVERY
        )
        found.append(
            Alternative(
                "acknowledgements first, no TXOP",
                "uploads become fair among themselves, and nothing depends on the number of "
                f"downloads, but a download gets {percent(float(alone.download_share))} where an "
                f"upload gets {percent(float(alone.upload_share))}.",
            )
        )
    found.append(
        Alternative(
            "airtime fairness and FQ-CoDel of mac80211",
            "fair among the downloads and short queues without any of this, but they have no say in "
            "how often stations with uploads win the medium.",
        )
    )
    return tuple(found)


def _cautions(sized: EdcaSizing, trial: EdcaTrial | None, untried: str | None) -> Iterator[str]:
    txop = sized.txop
    yield from not_simulated(untried)
    if trial is not None:
        yield (
            "The simulation has TCP like Linux's, a server with a round trip of 2 ms, frames sent "
            "one at a time, and queues of 50 packets. --for scenario prints the cell for airqueue "
            "simulate."
        )
    if sized.uploads and sized.downloads:
        yield (
            "With plain 802.11 the access point sends downloads and the uploads' acknowledgements "
            "from one queue. The predicted shares count all that the access point sends as "
            "downloads. Downloads get less, and the less, the more uploads there are: beside three "
            "hardly anything."
        )
    if txop.admitted != txop.packets:
        yield (
            f"hostapd sets the TXOP in steps of 0.1 ms, in which {plural(txop.admitted, 'packet')} "
            f"fit instead of {txop.packets}; the predictions are for those."
        )
    if txop.set_s > DURATION_LIMIT_S:
        yield (
            f"The Duration field announces {seconds(DURATION_LIMIT_S)} at most: the rest of so long "
            "a TXOP is not protected, and everybody else waits for it."
        )
    if _aggregates(sized):
        yield (
            "802.11n and later send aggregates, which these settings do not know: shares then follow "
            "the aggregates, and so short a TXOP would cut them. Leave the TXOP at its default there."
        )
    if sized.cell.phy.band == "5":
        fit = int((ETSI_TXOP_S + sized.cell.phy.sifs_s) / txop.step_s)
        yield (
            f"Under European rules for 5 GHz (EN 301 893) Linux holds CWmin of the access point's "
            f"video at {ETSI_AP_VIDEO_CW_MIN} or more and a TXOP of best effort at "
            f"{seconds(ETSI_TXOP_S)} or less, {plural(fit, 'packet')} here, whatever hostapd says."
        )
    yield (
        "The TXOP is right for one number of downloads, packet size and rate: set it again when they "
        "change. It ends early when the queue runs dry."
    )
    yield (
        "Stations without the rule for acknowledgements send those of their downloads as data, and "
        "stations without WMM keep AIFSN 2: both change the shares."
    )
    yield (
        "Video traffic shares the category of the acknowledgements and their windows; background "
        "gets what keeps it below best effort, whose defaults it would now overtake."
    )
    yield (
        "Shares are means of long flows at one rate without losses, one flow to a station; measured "
        "ones scattered by 10 to 15 % in the paper."
    )
