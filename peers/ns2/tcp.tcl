# Connections in ns-2.35: its one-way NewReno agents, sinks that acknowledge every d-th segment, and wired
# links behind the access point. What matters of ns-2 is told in peers/tcp.py.

source [file join [file dirname [info script]] wireless.tcl]

# The arguments of a script, which come as "name value" pairs, as global variables.
proc options {arguments} {
    foreach {name value} $arguments { uplevel #0 [list set $name $value] }
}

# A NewReno sender at one node and a receiver at another: {sender receiver}. `agents` is full for
# Agent/TCP/FullTcp or one-way for Agent/TCP with its sinks. Segments are `segment_bytes` and 40 of headers.
proc connection {ns from to agents segment_bytes window every ack_delay} {
    if {$agents eq "full"} {
        foreach end {sender receiver} {
            set $end [new Agent/TCP/FullTcp/Newreno]
            [set $end] set segsize_ $segment_bytes
            [set $end] set segsperack_ $every
            [set $end] set interval_ $ack_delay
        }
    } else {
        set sender [new Agent/TCP/Newreno]
        $sender set packetSize_ $segment_bytes
        set receiver [new Agent/TCPSink[expr {$every == 2 ? "/DelAck" : ""}]]
        if {$every == 2} { $receiver set interval_ $ack_delay }
    }
    $sender set window_ $window
    $ns attach-agent $from $sender
    $ns attach-agent $to $receiver
    $ns connect $sender $receiver
    if {$agents eq "full"} {
        $receiver listen
        set ::counter($receiver) [new Application/Counter $receiver]
    } elseif {$every > 2} {
        set ::ack_every($receiver) [new Application/AckEvery $ns $receiver $every $ack_delay]
    }
    return [list $sender $receiver]
}

# Bytes of data that a receiver got in order; one-way agents' SYN has 40 bytes, which cancel in differences.
proc delivered {receiver agents segment_bytes} {
    if {$agents eq "full"} { return [[set ::counter($receiver)] set bytes_] }
    return [expr [$receiver set bytes_] * double($segment_bytes) / ($segment_bytes + 40)]
}

Class Application/Counter -superclass Application

Application/Counter instproc init receiver {
    $self next
    $self set bytes_ 0.0
    $self attach-agent $receiver
    $self start
}

Application/Counter instproc recv bytes {
    $self instvar bytes_
    set bytes_ [expr {$bytes_ + $bytes}]
}

# Has a plain Agent/TCPSink acknowledge every `every`-th segment in order, or `delay` seconds after the first
# that waits. The sink tells its application of data in order before it acknowledges them; so the
# application sends the acknowledgement nowhere, if it is to wait, for as long as the sink is at it. Out of
# order nobody is told and the acknowledgement goes out. When time is up, the sink is handed a segment that
# it had before, number 0, and acknowledges all it has. As in Agent/TCPSink/DelAck the SYN and what fills
# a gap are acknowledged at once; unlike there a segment that fills the first of several gaps right next to
# each other waits.
Class Application/AckEvery -superclass Application

Application/AckEvery instproc init {ns sink every delay} {
    $self next
    $self instvar ns_ sink_ every_ delay_ out_ nowhere_ prompt_ waiting_ timer_ begun_
    set ns_ $ns
    set sink_ $sink
    set every_ $every
    set delay_ $delay
    set out_ [$sink target]
    set nowhere_ [new Agent/Null]
    set prompt_ [new Agent/TCP]
    $prompt_ target $sink
    set timer_ ""
    $self forget
    $self attach-agent $sink
    $self start
}

# For a new connection.
Application/AckEvery instproc forget {} {
    $self instvar begun_ waiting_
    set begun_ 0
    set waiting_ 0
    $self stop_timer
}

Application/AckEvery instproc stop_timer {} {
    $self instvar ns_ timer_
    if {$timer_ ne ""} { $ns_ cancel $timer_ }
    set timer_ ""
}

Application/AckEvery instproc recv bytes {
    $self instvar ns_ sink_ every_ delay_ out_ nowhere_ waiting_ timer_ begun_ bytes_
    incr waiting_
    set fills_a_gap [expr {$begun_ > 1 && $bytes > $bytes_}]
    if {$begun_ == 1} { set bytes_ $bytes }
    if {$begun_ == 0 || $fills_a_gap || $waiting_ >= $every_} {
        set waiting_ 0
        $self stop_timer
    } else {
        $sink_ target $nowhere_
        $ns_ at [$ns_ now] "$sink_ target $out_"
        if {$waiting_ == 1} { set timer_ [$ns_ at [expr [$ns_ now] + $delay_] "$self late"] }
    }
    if {$begun_ < 2} { incr begun_ }
}

Application/AckEvery instproc late {} {
    $self instvar prompt_ waiting_ timer_
    set timer_ ""
    set waiting_ 0
    $prompt_ reset
    $prompt_ advanceby 1
    $prompt_ reset
}

# A wired link one way: {head tail} of 100 Mb/s, `delay_ms` and a queue that does not overflow.
proc wire {delay_ms} {
    set queue [new Queue/DropTail]
    $queue set limit_ 100000
    set link [new DelayLink]
    $link set bandwidth_ 100Mb
    $link set delay_ ${delay_ms}ms
    $queue target $link
    $queue drop-target [new Agent/Null]
    return [list $queue $link]
}

# Moves an agent of the access point behind a wired link to a server: what the agent sends, and what
# arrives for it, takes the link. Agents with the same delay share server and link.
proc move_behind {ap agent delay_ms} {
    global towards_ap towards_server server
    if {![info exists server($delay_ms)]} {
        set server($delay_ms) [new Classifier/Port]
        set towards_ap($delay_ms) [wire $delay_ms]
        [lindex $towards_ap($delay_ms) 1] target [$agent target]
        set towards_server($delay_ms) [wire $delay_ms]
        [lindex $towards_server($delay_ms) 1] target $server($delay_ms)
    }
    set port [$agent set agent_port_]
    $server($delay_ms) install $port $agent
    [$ap demux] install $port [lindex $towards_server($delay_ms) 0]
    $agent target [lindex $towards_ap($delay_ms) 0]
}

# Has the access point send each flow at the rate that `rates` has for its flow id. The MAC's rate is changed as
# a frame of another flow is handed to it: a classifier between interface queue and MAC that knows one
# flow at a time asks Tcl about any other.
Class Classifier/Hash/Fid/Rates -superclass Classifier/Hash/Fid

Classifier/Hash/Fid/Rates instproc init {mac rates} {
    $self next 1
    $self instvar mac_ rates_ known_
    set mac_ $mac
    array set rates_ $rates
    set known_ ""
    $self install 0 $mac
}

Classifier/Hash/Fid/Rates instproc unknown-flow {source destination flow} {
    $self instvar mac_ rates_ known_
    if {$known_ ne ""} { $self del-hash 0 0 $known_ }
    set known_ $flow
    $self set-hash auto 0 0 $flow 0
    # An ARP packet, which is of no flow, goes at any rate.
    if {[info exists rates_($flow)]} { $mac_ set dataRate_ $rates_($flow)Mb }
}

# Watches how many frames wait in a node's interface queue; `set sum_` of it is their integral over time.
proc watch_queue {ns node} {
    set monitor [new QueueMonitor]
    set waiting [new Integrator]
    $monitor set-bytes-integrator [new Integrator]
    $monitor set-pkts-integrator $waiting
    foreach {where class} {in SnoopQueue/In out SnoopQueue/Out drop SnoopQueue/Drop} {
        set snoop($where) [new $class]
        $snoop($where) set-monitor $monitor
    }
    set queue [$node set ifq_(0)]
    $snoop(in) target $queue
    $snoop(out) target [$queue target]
    $snoop(drop) target [new Agent/Null]
    $queue target $snoop(out)
    $queue drop-target $snoop(drop)
    [$node set ll_(0)] down-target $snoop(in)
    return $monitor
}
