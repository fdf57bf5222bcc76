# Sessions of the web in ns-2.35: the access point sends each of its stations one file after another, with time
# to think between them; prints one line of JSON with sums over all sessions that ended after the warm-up, the
# mean over stations of the median of each one's sessions, and the 95th percentile of all sessions.
#
#   ns sessions.tcl stations 10 law exponential mean_bytes 30000 think_s 10 agents one-way window 1000 every 1 \
#       ack_delay 0.04 segment_bytes 1000 data_mbps 11 control_mbps 2 preamble long rts 1 queue 100000 \
#       warm_up 100 seconds 5000 seed 1
#
# `law` is exponential or pareto, the latter with shape 1.5. A session begins as its connection sends the SYN and
# ends as the access point has the acknowledgement of the last segment. Thinking begins then.

source [file join [file dirname [info script]] tcp.tcl]
options $argv
ns-random $seed
set_layer $data_mbps $control_mbps $preamble $rts
set ns [new Simulator]
set_field $ns [expr $stations + 1] $queue 0
set ap [centre $ns]

# Thinks, then sends a file.
proc think i {
    global ns random think_s
    $ns at [expr [$ns now] + [$random($i) exponential $think_s]] "begin $i"
}

proc file_bytes i {
    global random law mean_bytes
    if {$law eq "exponential"} { return [$random($i) exponential $mean_bytes] }
    return [expr $mean_bytes / 3.0 / pow([$random($i) uniform 0 1], 1 / 1.5)]
}

# A new connection with the same agents; ns-2 rounds up to whole segments too.
proc begin i {
    global ns begun_at segments sender receiver segment_bytes
    set begun_at($i) [$ns now]
    set segments($i) [expr int(ceil([file_bytes $i] / $segment_bytes))]
    $sender($i) reset
    $receiver($i) reset
    if {[info exists ::ack_every($receiver($i))]} { $::ack_every($receiver($i)) forget }
    $sender($i) send [expr $segments($i) * $segment_bytes]
}

proc ended i {
    global ns begun_at segments sum warm_up
    if {[$ns now] >= $warm_up} {
        set delay [expr [$ns now] - $begun_at($i)]
        lappend ::delays($i) $delay
        foreach {name value} [list sessions 1 delay_s $delay segments $segments($i) \
            segments_squared [expr double($segments($i)) * $segments($i)] \
            delay_s_times_segments [expr $delay * $segments($i)] \
        ] { set sum($name) [expr $sum($name) + $value] }
    }
    think $i
}

# The smallest value that a share of all does not exceed.
proc quantile {values share} {
    return [lindex [lsort -real $values] [expr int(ceil($share * [llength $values])) - 1]]
}

proc report {} {
    global sum begun seconds warm_up delays
    set cpu [expr [cpu_s] - $begun]
    set all [list]
    set medians 0.0
    foreach i [array names delays] {
        set all [concat $all $delays($i)]
        set medians [expr $medians + [quantile $delays($i) 0.5]]
    }
    if {[llength $all]} {
        set sum(delay_p50_s) [expr $medians / [array size delays]]
        set sum(delay_p95_s) [quantile $all 0.95]
    }
    foreach name [lsort [array names sum]] { lappend fields "\"$name\": [format %.9g $sum($name)]" }
    puts [format {{"simulator": "ns-2.35", %s, "cpu_s": %.6f, "simulated_s": %g}} \
        [join $fields ", "] $cpu [expr $warm_up + $seconds]]
    exit 0
}

foreach name {sessions delay_s segments segments_squared delay_s_times_segments} { set sum($name) 0.0 }
for {set i 0} {$i < $stations} {incr i} {
    set random($i) [new RNG]
    $random($i) seed [expr 1000 * $seed + $i]
    lassign [connection $ns $ap [around $ns $i $stations] \
        $agents $segment_bytes $window $every $ack_delay] sender($i) receiver($i)
    $sender($i) proc done {} "ended $i"
    think $i
}
$ns at [expr $warm_up + $seconds] report
set begun [cpu_s]
$ns run
