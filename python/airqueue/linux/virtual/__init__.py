"""A Linux kernel that runs as a process, on a virtual clock: user-mode Linux.

Time stands still while anything runs, so that nothing in the machine is ever late, and two runs of
the same work with the same seed are the same.
"""
