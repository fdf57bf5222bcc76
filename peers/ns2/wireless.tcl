# What all cells of 802.11b in ns-2.35 have in common: layer and MAC, nodes around a centre, CPU time.

# data_mbps, control_mbps, preamble (long or short), rts (0 or 1)
proc set_layer {data_mbps control_mbps preamble rts} {
    # Preamble and header are always sent at PLCPDataRate_. The short preamble's header is 48 bits at
    # 2 Mb/s (802.11-2020, 16.2.2.3), which is as long as 24 bits at 1 Mb/s.
    if {$preamble eq "long"} { set plcp {144 48} } else { set plcp {72 24} }
    foreach {parameter value} [list \
        CWMin_ 31 CWMax_ 1023 SlotTime_ 0.000020 SIFS_ 0.000010 PLCPDataRate_ 1.0e6 \
        PreambleLength_ [lindex $plcp 0] PLCPHeaderLength_ [lindex $plcp 1] \
        RTSThreshold_ [expr {$rts ? 0 : 3000}] ShortRetryLimit_ 7 LongRetryLimit_ 4 \
        dataRate_ ${data_mbps}Mb basicRate_ ${control_mbps}Mb \
    ] { Mac/802_11 set $parameter $value }
    return $plcp
}

# Prepares `nodes` nodes on a square field of so many metres; with `trace` the MAC's trace goes to standard error.
proc set_field {ns nodes queue_limit trace {side_m 500}} {
    set field [new Topography]
    $field load_flatgrid $side_m $side_m
    create-god $nodes
    $ns trace-all [expr {$trace ? "stderr" : [open /dev/null w]}]
    $ns node-config -adhocRouting DumbAgent -llType LL -macType Mac/802_11 -ifqType Queue/DropTail \
        -ifqLen $queue_limit -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround \
        -phyType Phy/WirelessPhy -channel [new Channel/WirelessChannel] -topoInstance $field \
        -agentTrace OFF -routerTrace OFF -macTrace [expr {$trace ? "ON" : "OFF"}] -movementTrace OFF
}

proc place {node x y} { $node set X_ $x; $node set Y_ $y; $node set Z_ 0; $node random-motion 0 }

proc centre {ns} {
    set node [$ns node]
    place $node 250 250
    return $node
}

# The i-th of `count` nodes on a circle around the centre.
proc around {ns i count {radius 10}} {
    set node [$ns node]
    set angle [expr 2 * acos(-1) * $i / $count]
    place $node [expr 250 + $radius * cos($angle)] [expr 250 + $radius * sin($angle)]
    return $node
}

# CPU time of this process in seconds, user and system, from the scheduler's own account.
proc cpu_s {} {
    set file [open /proc/self/schedstat]
    set spent [lindex [gets $file] 0]
    close $file
    return [expr $spent * 1e-9]
}
