"""Our queue disciplines beside those of a real Linux kernel, packet by packet.

The kernel runs as a program (user-mode Linux) on a virtual clock (clock.c), so that a measurement
is exact and equal on every machine. `python -m validation.linux` measures kernel.csv again; `claims`
compares ours with it.
"""
