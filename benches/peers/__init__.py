"""ns-2 and ns-3 beside our own engine: the same cells, their figures, and what they cost.

    python -m benches.peers install          # Debian's ns2 and libns3-dev (as root), the ns3 wheel
    python -m benches.peers run ns2 --stations 10 --attempts
    python -m benches.peers compare --json peers.json
    python -m benches.peers references       # continues validation/references_mac.csv

`scenario` says what can be run, `install` gets the simulators, `run` runs one scenario in one of
them, `compare` makes the table, `references` the reference values of docs/validation. Nothing here
is imported by the package.
"""
