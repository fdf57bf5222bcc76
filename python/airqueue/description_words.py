"""What values of scenarios may be: words, and quantities with their units.

Written by scripts/native_types.py from crates/airqueue-scenario/src/file: change that, then
``make types``.
"""

from __future__ import annotations

from typing import Literal

Packets = str
Duration = str
KeptName = Literal["before-queue", "behind-queue"]
Rate = str
Size = str
BehaviourName = Literal["standard", "ns3", "ns2"]
AllocationName = Literal[
    "ratio", "optimum", "printed", "equal", "first-hop", "airtime", "airtime-path"
]
CarryingName = Literal["link-rates", "flow-rates"]
DeciderName = Literal["observer", "routers"]
DomainsName = Literal["two-hop", "busy"]
LimitedName = Literal["node", "flow"]
RoundingName = Literal["nearest", "largest-remainder", "best"]
SourceQueueName = Literal["first", "separate"]
CategoryName = Literal["bk", "be", "vi", "vo"]
Length = str
AckFilter = Literal["no-ack-filter", "ack-filter", "ack-filter-aggressive"]
Isolation = Literal[
    "flowblind",
    "srchost",
    "dsthost",
    "hosts",
    "flows",
    "dual-srchost",
    "dual-dsthost",
    "triple-isolate",
]
Diffserv = Literal["besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"]
Behaviour = Literal["rfc", "linux"]
DisciplineName = Literal[
    "droptail",
    "codel",
    "fq_codel",
    "red",
    "pie",
    "sfq",
    "cake",
    "drr",
    "adaptive",
    "rdqm",
    "mac80211",
]
DropFrom = Literal["tail", "head"]
QueuePer = Literal["flow", "link"]
QueueLimit = str
RdqmWeight = Literal["bdp", "rtt"]
FrameRate = Rate | str
TxopLimit = str
Dscp = str | int
FrameDistributionName = Literal["constant", "lognormal"]
Bytes = str
PacketRate = str
SizeDistributionName = Literal["constant", "exponential", "pareto"]
ThinkDistributionName = Literal["constant", "exponential", "pareto", "lognormal"]
PingDistributionName = Literal["constant", "exponential"]
RateControlName = Literal["fixed", "arf", "aarf", "minstrel"]
RttName = Literal["base", "smoothed"]
SourceName = Literal[
    "saturated",
    "cbr",
    "poisson",
    "voice",
    "frames",
    "ping",
    "tcp",
    "web",
    "page",
    "video",
    "external",
]
Delays = Duration | list[Duration]
AckScheme = Literal["dynamic"]
AckEveryValue = int | AckScheme
AckTimerName = Literal["segment", "ticks"]
CongestionName = Literal["newreno", "cubic", "bbr"]
PacingName = Literal["tcp-ap", "tcp-ap-code"]
PacingValue = bool | PacingName
SmallQueueValue = bool | Duration
TcpName = Literal["standard", "linux", "ns2"]
VideoChoiceName = Literal["throughput", "buffer"]
CodecName = Literal["g711-plc", "g729", "g729a-vad"]
EnergyLevelName = Literal["sense", "interfere"]
SpanLawName = Literal["exponential", "constant", "pareto"]
Power = str
Decibels = str
Speed = str
AccessName = Literal["dcf", "edca"]
CountdownName = Literal["edca", "freeze"]
EditionName = Literal["2005", "2016"]
RoleName = Literal["station", "access_point"]
ProtectionName = Literal["none", "cts_to_self", "rts_cts"]
LevelName = Literal["decode", "sense", "interfere"]
Frequency = str
BandName = Literal["2.4 GHz", "5 GHz"]
PreambleName = Literal["long", "short"]
SlotName = Literal["short", "long"]
Standard = Literal["802.11a", "802.11b", "802.11g", "802.11n", "802.11ac", "802.11ax"]
MetricName = Literal["hops", "airtime"]
DeviceName = Literal["openwrt-24", "linux-station", "apq-2011", "enterprise"]
WakeUpName = Literal["null", "ps-poll"]
