# Long TCP downloads from one access point, for the rows of references.csv that name this script.
#
#   ns tcp_cell.tcl STATIONS SEGMENTS_PER_ACK WINDOW SEED SECONDS
#
# prints the goodput of all stations in Mb/s, after 10 s of warm-up. ns-2.35; the rows are seeds 1 to 5
# and 60 s. 802.11b with long preambles, RTS/CTS, data at 11 and control frames at 2 Mb/s; stations on a
# circle of 10 m around the access point; no routing, no losses but collisions.

foreach {name index} {stations 0 per_ack 1 window 2 seed 3 seconds 4} { set $name [lindex $argv $index] }
set warm_up 10
ns-random $seed

foreach {parameter value} {
    CWMin_ 31 CWMax_ 1023 SlotTime_ 0.000020 SIFS_ 0.000010 PreambleLength_ 144 PLCPHeaderLength_ 48
    PLCPDataRate_ 1.0e6 RTSThreshold_ 0 ShortRetryLimit_ 7 LongRetryLimit_ 4 dataRate_ 11Mb basicRate_ 2Mb
} { Mac/802_11 set $parameter $value }

set ns [new Simulator]
set field [new Topography]
$field load_flatgrid 500 500
create-god [expr $stations + 1]
$ns trace-all [open /dev/null w]
$ns node-config -adhocRouting DumbAgent -llType LL -macType Mac/802_11 -ifqType Queue/DropTail \
    -ifqLen 100000 -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround \
    -phyType Phy/WirelessPhy -channel [new Channel/WirelessChannel] -topoInstance $field \
    -agentTrace OFF -routerTrace OFF -macTrace OFF -movementTrace OFF

proc place {node x y} { $node set X_ $x; $node set Y_ $y; $node set Z_ 0; $node random-motion 0 }

set access_point [$ns node]
place $access_point 250 250
Agent/TCPSink/DelAck set interval_ 40ms
for {set i 1} {$i <= $stations} {incr i} {
    set angle [expr 2 * acos(-1) * $i / $stations]
    set station [$ns node]
    place $station [expr 250 + 10 * cos($angle)] [expr 250 + 10 * sin($angle)]
    set tcp($i) [new Agent/TCP/Newreno]
    foreach {parameter value} [list packetSize_ 1000 window_ $window minrto_ 0.2 tcpTick_ 0.01] {
        $tcp($i) set $parameter $value
    }
    set sink [new Agent/TCPSink[expr {$per_ack > 1 ? "/DelAck" : ""}]]
    $ns attach-agent $access_point $tcp($i)
    $ns attach-agent $station $sink
    $ns connect $tcp($i) $sink
    set transfer [new Application/FTP]
    $transfer attach-agent $tcp($i)
    $ns at [expr 0.1 + 0.01 * $i] "$transfer start"
}

proc segments {} {
    global tcp
    set sum 0
    foreach i [array names tcp] { incr sum [expr int([$tcp($i) set ack_])] }
    return $sum
}
$ns at $warm_up {set before [segments]}
$ns at [expr $warm_up + $seconds] {puts [expr ([segments] - $before) * 8000.0 / $seconds / 1e6]; exit 0}
$ns run
