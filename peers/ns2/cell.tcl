# One saturated single-receiver cell of 802.11b in ns-2.35; prints one line of JSON.
#
#   ns cell.tcl STATIONS IP_BYTES DATA_MBPS CONTROL_MBPS PREAMBLE RTS SECONDS WARM_UP SEED TRACE RADIUS
#
# PREAMBLE is long or short; RTS and TRACE are 0 or 1. Stations stand on a circle of RADIUS metres
# around the receiver. With TRACE the MAC's trace goes to standard error, from which the caller counts attempts;
# without it nothing is traced and cpu_s is what the simulation alone costs.

foreach {name index} {
    stations 0 ip_bytes 1 data_mbps 2 control_mbps 3 preamble 4 rts 5 seconds 6 warm_up 7 seed 8 trace 9 radius 10
} { set $name [lindex $argv $index] }
ns-random $seed

source [file join [file dirname [info script]] wireless.tcl]
set plcp [set_layer $data_mbps $control_mbps $preamble $rts]
set ns [new Simulator]
set_field $ns [expr $stations + 1] 100000 $trace

set receiver [centre $ns]
for {set i 0} {$i < $stations} {incr i} {
    set station [around $ns $i $stations $radius]
    set source($i) [new Agent/UDP]
    $source($i) set packetSize_ $ip_bytes
    set sink($i) [new Agent/LossMonitor]
    $ns attach-agent $station $source($i)
    $ns attach-agent $receiver $sink($i)
    $ns connect $source($i) $sink($i)
    set sent($i) 0
    # One packet ahead of the others: the link layer looks the receiver's address up with it.
    $ns at [expr 0.01 * ($i + 1)] "supply $i 1"
}

proc supply {i packets} {
    global source sent ip_bytes
    if {$packets > 0} { $source($i) send [expr $packets * $ip_bytes]; incr sent($i) $packets }
}

# Keeps every queue from running dry at no cost to speak of: five times a second each queue is filled
# to what its station could send in that time if it had the channel alone. Nothing ever overflows, so
# what a sink misses was given up by the MAC.
set refill 0.2
set exchange [expr ([lindex $plcp 0] + [lindex $plcp 1]) * 2e-6 + 8e-6 * $ip_bytes / $data_mbps]
set backlog [expr int($refill / $exchange) + 20]
proc fill {} {
    global ns stations sink sent backlog refill
    for {set i 0} {$i < $stations} {incr i} {
        supply $i [expr $backlog - ($sent($i) - int([$sink($i) set npkts_]) - int([$sink($i) set nlost_]))]
    }
    $ns at [expr [$ns now] + $refill] fill
}
$ns at [expr 0.01 * ($stations + 2)] fill

proc delivered {} {
    global stations sink
    set counts {}
    for {set i 0} {$i < $stations} {incr i} { lappend counts [expr int([$sink($i) set npkts_])] }
    return $counts
}

proc report {} {
    global before begun stations ip_bytes seconds warm_up
    set cpu [expr [cpu_s] - $begun]
    set total 0
    set each {}
    foreach then $before now [delivered] {
        incr total [expr $now - $then]
        lappend each [expr ($now - $then) * 8.0 * $ip_bytes / $seconds]
    }
    puts [format {{"simulator": "ns-2.35", "ip_throughput_bps": %.1f, "udp_payload_bps": %.1f, "station_ip_bps": [%s], "attempts": null, "failed_attempts": null, "failed_fraction": null, "cpu_s": %.6f, "simulated_s": %g}} \
        [expr $total * 8.0 * $ip_bytes / $seconds] [expr $total * 8.0 * ($ip_bytes - 28) / $seconds] \
        [join $each ", "] $cpu [expr $warm_up + $seconds]]
    exit 0
}

$ns at $warm_up {set before [delivered]}
$ns at [expr $warm_up + $seconds] report
set begun [cpu_s]
$ns run
