#!/usr/bin/env bash
# Runs every fuzz target for the given number of seconds; stops at the first finding.
#
#   scripts/fuzz.sh SECONDS
#
# The sanitizer flags of cargo-fuzz are nightly ones. Without a nightly toolchain the project's own
# is told to accept them, which is fine for a fuzzing build and used for nothing else.
set -euo pipefail

seconds=${1:?usage: scripts/fuzz.sh SECONDS}
if ! cargo fuzz --version >/dev/null 2>&1; then
    echo "airqueue: needs cargo-fuzz; install it with: cargo install --locked cargo-fuzz" >&2
    exit 1
fi
if rustup toolchain list 2>/dev/null | grep -q '^nightly'; then
    export RUSTUP_TOOLCHAIN=nightly
else
    export RUSTC_BOOTSTRAP=1
fi
targets=$(cargo fuzz list)
for target in $targets; do
    echo "fuzzing $target for $seconds s"
    cargo fuzz run "$target" -- -max_total_time="$seconds" -verbosity=0 -print_final_stats=1
done
