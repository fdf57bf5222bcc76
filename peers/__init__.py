"""ns-2 and ns-3 beside our own engine: the same cells, their figures, and what they cost.

    .venv/bin/python -m peers install          # what is missing (apt-get needs root)
    .venv/bin/python -m peers run ns2 --stations 10 --attempts
    .venv/bin/python -m peers compare --json peers.json
    .venv/bin/python -m peers references       # continues validation/references_mac.csv

`scenario` says what can be run, `install` gets the simulators, `run` runs one scenario in one of
them, `tcp` and `mesh` have networks above the cell in ns-2, `compare` makes the table, `references`
the reference values of docs/validation. `emulators` gets the emulators that a bench has beside ours.
`validation`, benches and tests import from here, the package never.
"""
