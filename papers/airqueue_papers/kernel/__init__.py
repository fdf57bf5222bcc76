"""The papers' schemes with the Linux kernel's TCP, beside our own: exact emulations and simulations.

Each module is an item of the page beyond the papers; `compare` has what they share, and `ends` is the
program at the real nodes.
"""
