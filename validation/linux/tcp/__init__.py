"""A real kernel's TCP through a bottleneck: goodput, queue and windows, for ours to be held against.

`python -m validation.linux.tcp` makes figures.csv and windows.csv anew; the tests of
airqueue-transport run our TCP over the same bottlenecks.
"""
