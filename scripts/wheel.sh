#!/usr/bin/env bash
# Builds one wheel for CPython 3.11 and later, with airqueued, airqueue-endpoint, manual pages and shell completion in
# it, and tries the wheel in a bare virtual environment of each interpreter that there is (scripts/try-wheel.sh).
#
#   scripts/wheel.sh DIRECTORY
#
# PYTHON is an interpreter with airqueue in it, of which the manual pages are made.
set -euo pipefail

out=${1:?usage: scripts/wheel.sh DIRECTORY}
here=$(dirname "$0")
built=${CARGO_TARGET_DIR:-target}/binaries
static=$(uname -m)-unknown-linux-musl

# What maturin adds to a wheel beside the package: it looks for a folder of this name. Removed at the end, or an editable
# installation would take it for current.
data=airqueue._native.data
trap 'rm -rf "$data"' EXIT
rm -rf "$data"
"$here/pages.sh" "$data/data/share"
"$here/binaries.sh" "$built" "$static"
mkdir -p "$data/scripts"
install -m 755 "$built/$static/"{airqueued,airqueue-endpoint} "$data/scripts/"

# The compiler is told the engine's usual ways by a run of the examples (scripts/train.py), where rustup has the tool.
host=$(rustc -vV | sed -n 's/^host: //p')
profiled=()
if [ -x "$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata" ]; then
    profiled=(--pgo)
else
    echo "airqueue: no profile guides the compiler, as llvm-profdata is missing: rustup component add llvm-tools" >&2
fi
# Optimised over all crates, unlike what `make setup` builds.
CARGO_PROFILE_RELEASE_LTO=thin maturin build --quiet --release --locked --strip "${profiled[@]}" --out "$out"
wheel=$(ls -t "$out"/airqueue-*.whl | head -n 1)
echo "airqueue: $wheel, $(($(stat -c %s "$wheel") / 1000)) kB"
"$here/try-wheel.sh" "$wheel"
