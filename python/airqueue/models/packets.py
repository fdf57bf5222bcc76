"""Sizes of packets of TCP over Ethernet: the defaults of the models."""

from __future__ import annotations

from typing import Final

from airqueue.models.catalogue import Kind, Parameter

PACKET_BYTES: Final = 1500
"""An IP packet as large as Ethernet carries it."""
TCP_IP_BYTES: Final = 40
"""Headers of TCP and IPv4 without options; also an acknowledgement without data."""
SEGMENT_BYTES: Final = PACKET_BYTES - TCP_IP_BYTES
"""TCP payload of such a packet."""

PACKET_PARAMETER: Final = Parameter("packet_bytes", "IP packets", PACKET_BYTES, Kind.SIZE)
SEGMENT_PARAMETER: Final = Parameter(
    "segment_bytes", "TCP payload of a packet", SEGMENT_BYTES, Kind.SIZE
)
