#!/usr/bin/env bash
# The Rust tests. Those of the real kernel and the wall clock run beside others, which may keep them from a processor:
# where no more than a few tests fail, these run once more, alone. CONTRIBUTING.md says what to do about a test that
# passes only then.
#
#   scripts/test-rust.sh [ARGUMENTS OF CARGO TEST]
set -euo pipefail

# More than these are no matter of chance.
FEW=3
said=$(mktemp)
trap 'rm -f "$said"' EXIT

tests() {
    cargo test --workspace --locked --no-fail-fast "$@" 2>&1 | tee "$said"
}

code=0
tests "$@" || code=$?
[ "$code" -ne 0 ] || exit 0
mapfile -t failed < <(sed -n -E 's/^test (.+) \.\.\. FAILED$/\1/p' "$said" | sort -u)
# What could not be built, or ended without its list of failures, has no name to run again.
if [ "${#failed[@]}" -eq 0 ] || [ "${#failed[@]}" -gt "$FEW" ] ||
    grep -q -E "^error: could not compile|process didn't exit successfully.*signal" "$said"; then
    exit "$code"
fi
echo "airqueue: failed beside other tests, run once more alone: ${failed[*]}"
tests --quiet -- --exact --test-threads=1 "${failed[@]}" >/dev/null || {
    code=$?
    grep -v -E '^$|^running 0 tests|^test result: ok. 0 passed' "$said"
    exit "$code"
}
echo "airqueue: passed only alone, to be mended: ${failed[*]}"
