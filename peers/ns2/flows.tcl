# TCP connections without an end through one access point in ns-2.35; prints one line of JSON.
#
#   ns flows.tcl flows {down:5:11 up:5:11} queue 100 agents one-way window 10000 every 1 ack_delay 0.04 \
#       segment_bytes 1000 data_mbps 11 control_mbps 1 preamble long rts 0 watch 0 warm_up 30 seconds 570 seed 1
#
# A flow is "direction:wired delay in ms:data rate in Mb/s", each with a station of its own, on a circle of 10 m
# around the access point; the delay is one way, to a server behind a link of 100 Mb/s, and "ap" in its
# place has the connection end in the access point itself. With `watch` the frames waiting in the
# interface queue of the access point are averaged, which costs CPU time.

source [file join [file dirname [info script]] tcp.tcl]
options $argv
ns-random $seed
set_layer $data_mbps $control_mbps $preamble $rts
set ns [new Simulator]
set_field $ns [expr [llength $flows] + 1] $queue 0
set ap [centre $ns]
set start [new RNG]
$start seed $seed
set several_rates 0
set i 0
foreach flow $flows {
    lassign [split $flow :] direction delay_ms rate_mbps
    set station [around $ns $i [llength $flows]]
    set ends [expr {$direction eq "down" ? [list $ap $station] : [list $station $ap]}]
    lassign [connection $ns {*}$ends $agents $segment_bytes $window $every $ack_delay] sender receiver
    if {$delay_ms ne "ap"} { move_behind $ap [expr {$direction eq "down" ? $sender : $receiver}] $delay_ms }
    [$station set mac_(0)] set dataRate_ ${rate_mbps}Mb
    incr i
    foreach agent [list $sender $receiver] { $agent set fid_ $i }
    set rates($i) $rate_mbps
    if {$rate_mbps != $data_mbps} { set several_rates 1 }
    lappend receivers $receiver
    $ns at [expr 0.1 + [$start uniform 0 1]] "$sender advance 2000000"
}
if {$several_rates} {
    set interface [$ap set ifq_(0)]
    $interface target [new Classifier/Hash/Fid/Rates [$interface target] [array get rates]]
}
if {$watch} { set monitor [watch_queue $ns $ap] }

proc counts {} {
    global receivers agents segment_bytes
    set each {}
    foreach receiver $receivers { lappend each [delivered $receiver $agents $segment_bytes] }
    return $each
}

proc waiting {} {
    global watch monitor
    if {!$watch} { return 0 }
    set integral [$monitor get-pkts-integrator]
    $integral newpoint [[Simulator instance] now] [$monitor set pkts_]
    return [$integral set sum_]
}

proc begin {} {
    global before waited
    set before [counts]
    set waited [waiting]
}

proc report {} {
    global before waited begun seconds warm_up watch
    set cpu [expr [cpu_s] - $begun]
    foreach then $before now [counts] {
        lappend each [format %.1f [expr ($now - $then) * 8.0 / $seconds]]
    }
    set queued [expr {$watch ? [format %.4f [expr ([waiting] - $waited) / $seconds]] : "null"}]
    puts [format {{"simulator": "ns-2.35", "flow_bps": [%s], "ap_queue_frames": %s, "cpu_s": %.6f, "simulated_s": %g}} \
        [join $each ", "] $queued $cpu [expr $warm_up + $seconds]]
    exit 0
}

$ns at $warm_up begin
$ns at [expr $warm_up + $seconds] report
set begun [cpu_s]
$ns run
