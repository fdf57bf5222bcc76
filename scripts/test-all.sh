#!/usr/bin/env bash
# `make test`: lint, then the tests of Rust and Python; what fails ends it. Beside this go on
# - the installation of what the tests need of the system, which waits for the network, while everything is built;
# - the tests of the models, the build of the small binaries, and the compilation of the Python tests, on what the Rust tests
#   leave free of the processors: many of these sleep.
#
#   scripts/test-all.sh
set -euo pipefail

# What `make` is called with, and how long that took: whoever makes the tests slower sees where.
step() {
    local began=$SECONDS
    make --no-print-directory "$@"
    echo "airqueue: $((SECONDS - began)) s for make $*"
}

said=$(mktemp)
packages=
beside=
finish() {
    [ -z "$beside" ] || kill "$beside" 2>/dev/null || true
    # An installation that is killed has to be mended by hand.
    [ -z "$packages" ] || wait "$packages" || true
    rm -f "$said"
}
trap finish EXIT

# Before the others: both would want the lock of the package manager.
step system-build
step system-test &
packages=$!
# mypy has one thread, and so has clippy at its end.
step --jobs=2 --output-sync lint
step build-rust-tests
wait "$packages"
packages=

# sched(7), SCHED_IDLE: a Rust test that wants a processor takes it from them at once.
chrt --idle 0 make --no-print-directory test-models endpoint compile-tests >"$said" 2>&1 &
beside=$!
step test-rust
code=0
wait "$beside" || code=$?
beside=
cat "$said"
[ "$code" -eq 0 ] || exit "$code"

step test-python
