# Flows over several hops in ns-2.35; prints one line of JSON.
#
#   ns mesh.tcl nodes {0:0:50 200:0:50 400:0:50} flows {tcp:0-1-2 cbr:0-1-2} agents one-way window 10000 every 1 \
#       ack_delay 0.04 segment_bytes 1460 data_mbps 11 control_mbps 1 preamble long rts 0 watch 0 \
#       warm_up 20 seconds 180 seed 1
#
# A node is "x:y:limit of its interface queue", places in metres. A flow is "tcp" or "cbr", and the nodes that it
# passes, by number; what TCP acknowledges goes the same way back. A flow of cbr has 25 packets of 40 bytes a
# second. With `watch` the trace of agents and of dropped frames precedes the line, and what senders of TCP hold
# for the smoothed round-trip time is averaged over time; both cost CPU time.

source [file join [file dirname [info script]] tcp.tcl]
options $argv
ns-random $seed
set_layer $data_mbps $control_mbps $preamble $rts
set ns [new Simulator]
set_field $ns [llength $nodes] 50 0 5000
if {$watch} {
    $ns trace-all stdout
    $ns node-config -agentTrace ON
}

# The link layer of a node that hands everything to one neighbour, whatever its destination: no address is
# resolved, no route is looked for. {entry}
proc towards {from to} {
    global node hop
    if {[info exists hop($from,$to)]} { return $hop($from,$to) }
    set link [new LL]
    $link mac [$node($from) set mac_(0)]
    $link set macDA_ [[$node($to) set mac_(0)] id]
    $link down-target [$node($from) set ifq_(0)]
    $link up-target [$node($from) entry]
    # Forgets that a packet to be passed on came from below.
    set entry [new NetworkInterface]
    $entry target $link
    set hop($from,$to) $entry
    return $entry
}

# Every node on the way passes on what is for its last.
proc way path {
    global node
    set last [lindex $path end]
    foreach from [lrange $path 0 end-1] to [lrange $path 1 end] {
        $node($from) add-route [$node($last) node-addr] [towards $from $to]
    }
}

set start [new RNG]
$start seed $seed
set i 0
foreach place $nodes {
    lassign [split $place :] x y limit
    set node($i) [$ns node]
    place $node($i) [expr 2500 + $x] [expr 2500 + $y]
    [$node($i) set ifq_(0)] set limit_ $limit
    if {$watch} { [$node($i) set mac_(0)] drop-target [$node($i) mobility-trace Drop MAC] }
    incr i
}
set i 0
foreach flow $flows {
    lassign [split $flow :] kind path
    set path [split $path -]
    way $path
    way [lreverse $path]
    set from $node([lindex $path 0])
    set to $node([lindex $path end])
    incr i
    if {$kind eq "tcp"} {
        lassign [connection $ns $from $to $agents $segment_bytes $window $every $ack_delay] sender receiver
        lappend senders $sender
        lappend receivers $receiver
        set begin "$sender advance 2000000"
    } else {
        set sender [new Agent/UDP]
        set receiver [new Agent/Null]
        $ns attach-agent $from $sender
        $ns attach-agent $to $receiver
        $ns connect $sender $receiver
        set calls [new Application/Traffic/CBR]
        $calls set packetSize_ 40
        $calls set interval_ 0.04
        $calls set random_ 0
        $calls attach-agent $sender
        set begin "$calls start"
    }
    foreach agent [list $sender $receiver] { $agent set fid_ $i }
    $ns at [expr 0.1 + [$start uniform 0 1]] $begin
}

proc counts {} {
    global receivers agents segment_bytes
    set each {}
    foreach receiver $receivers { lappend each [delivered $receiver $agents $segment_bytes] }
    return $each
}

# Twenty times a second; ns-2 has eighths of a tick.
proc look {} {
    global ns senders looks smoothed
    incr looks
    foreach sender $senders {
        set eighths [expr [$sender set srtt_] / 8.0]
        set smoothed($sender) [expr $smoothed($sender) + $eighths * [$sender set tcpTick_]]
    }
    $ns at [expr [$ns now] + 0.05] look
}

proc begin {} {
    global before watch looks senders smoothed
    set before [counts]
    set looks 0
    foreach sender $senders { set smoothed($sender) 0.0 }
    if {$watch} { look }
}

proc report {} {
    global before begun seconds warm_up watch looks senders smoothed
    set cpu [expr [cpu_s] - $begun]
    foreach then $before now [counts] {
        lappend each [format %.1f [expr ($now - $then) * 8.0 / $seconds]]
    }
    set means {}
    if {$watch} { foreach sender $senders { lappend means [format %.6f [expr $smoothed($sender) / $looks]] } }
    puts [format {{"simulator": "ns-2.35", "flow_bps": [%s], "smoothed_rtt_s": [%s], "cpu_s": %.6f, "simulated_s": %g}} \
        [join $each ", "] [join $means ", "] $cpu [expr $warm_up + $seconds]]
    exit 0
}

$ns at $warm_up begin
$ns at [expr $warm_up + $seconds] report
set begun [cpu_s]
$ns run
