"""Our queue disciplines beside those of a real Linux kernel, packet by packet.

The kernel runs as a program (user-mode Linux) on a virtual clock (clock.c), so that a measurement
is exact and the same on every machine. `python -m validation.linux` makes kernel.csv anew; `claims`
holds ours against it.
"""
