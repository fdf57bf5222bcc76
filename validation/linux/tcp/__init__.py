"""A real kernel's TCP through a bottleneck: goodput, queue and windows, the reference for our TCP.

`python -m validation.linux.tcp` makes figures.csv and windows.csv again; the tests of
airqueue-transport run our TCP over the same bottlenecks.
"""
