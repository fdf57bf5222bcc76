# Prints rows for crates/airqueue-transport/tests/data/ns2_bottleneck.csv: one TCP connection of ns-2
# through a drop-tail link of 400 packets a second, 100 ms there and back, from 50 s to 450 s.
#
#   ns bottleneck.tcl AGENT SINK BUFFER WINDOW
#
# AGENT is Newreno or Sack1; SINK is what follows Agent/TCPSink (a dash: nothing); BUFFER counts packets
# with the one being sent, as ns-2's drop-tail queue does.
foreach {agent sink buffer window} $argv break
if {$sink == "-"} { set sink "" }
set ns [new Simulator]
set a [$ns node]
set r [$ns node]
set b [$ns node]
$ns duplex-link $a $r 1000Mb 0.001ms DropTail
$ns simplex-link $r $b 3328000 50ms DropTail
$ns simplex-link $b $r 1000Mb 50ms DropTail
$ns queue-limit $r $b $buffer
$ns queue-limit $a $r 100000
$ns queue-limit $b $r 100000
set tcp [new Agent/TCP/$agent]
set end [new Agent/TCPSink$sink]
$tcp set packetSize_ 1000
$tcp set window_ $window
$ns attach-agent $a $tcp
$ns attach-agent $b $end
$ns connect $tcp $end
set ftp [new Application/FTP]
$ftp attach-agent $tcp
set monitor [$ns monitor-queue $r $b ""]
set waiting [$monitor get-pkts-integrator]
proc now {} {
    global tcp monitor waiting
    list [$tcp set ack_] [$waiting set sum_] [$monitor set pdrops_]
}
proc finish {} {
    global before argv
    foreach {acked sum lost} [now] {a0 s0 l0} $before {
        set figures "[expr $acked - $a0],[format %.4f [expr ($sum - $s0) / 400.0]],[expr $lost - $l0]"
        puts "[join $argv ,],$figures"
    }
    exit 0
}
$ns at 0 "$ftp start"
$ns at 50 "set before \[now\]"
$ns at 450 finish
$ns run
