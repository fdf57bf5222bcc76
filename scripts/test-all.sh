#!/usr/bin/env bash
# `make test`: lint, then the tests of Rust and Python; what fails ends it. Beside this go on
# - the installation of what the tests need of the system, and of Python's packages, which wait for the network; then the lint of
#   Python, and the build of the bindings, which waits for its turn with cargo;
# - the tests of the models, on what all other tests leave free of the processors: many of these sleep.
#
#   scripts/test-all.sh
set -euo pipefail

# What `make` is called with, and how long that took: whoever makes the tests slower sees where.
step() {
    local began=$SECONDS
    make --no-print-directory "$@"
    echo "airqueue: $((SECONDS - began)) s for make $*"
}

said=$(mktemp --directory)
packages=
python=
models=
finish() {
    # Groups of their own, with all that they have started.
    for group in $python $models; do
        kill -- "-$group" 2>/dev/null || true
    done
    # An installation that is killed has to be mended by hand.
    [ -z "$packages" ] || wait "$packages" || true
    rm -rf "$said"
}
trap finish EXIT

# Before the others: both would want the lock of the package manager.
step system-build
step system-test &
packages=$!
make --no-print-directory .venv/bin/python

set -m
(step lint-python; step tested) >"$said/python" 2>&1 </dev/null &
python=$!
set +m
step lint-rust
step build-rust-tests
code=0
wait "$python" || code=$?
python=
cat "$said/python"
[ "$code" -eq 0 ] || exit "$code"
wait "$packages"
packages=

# sched(7), SCHED_IDLE: a test that wants a processor takes it from them at once. What pytest makes of the tests comes first, since
# the Python tests wait for that.
set -m
(chrt --idle --pid 0 $BASHPID; step compile-tests; step test-models) >"$said/models" 2>&1 </dev/null &
models=$!
set +m
step test-rust
step test-python
wait "$models" || code=$?
models=
cat "$said/models"
exit "$code"
