#!/usr/bin/env bash
# The Python tests: those on the wall clock, one after the other; beside them, several at a time and only when a
# processor is free, those without a clock. Where no more than a few fail, these run once more, alone: CONTRIBUTING.md says
# what to do about a test that passes only then.
#
#   scripts/test-python.sh COMMAND... [-- ARGUMENTS OF PYTEST]
#
# COMMAND runs pytest, in a user namespace if need be. Arguments may choose tests of one kind alone.
set -euo pipefail

NOTHING_CHOSEN=5
FAILURES=1
ON_CLOCK="wall_clock and not long"
BESIDE="not wall_clock and not long"
# More failures than these are no matter of chance.
FEW=3
command=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    command+=("$1")
    shift
done
[ $# -eq 0 ] || shift

on_clock=$(mktemp)
said=$(mktemp)
# Caches of pytest, each with the names of the tests that have failed.
caches=$(mktemp --directory)
beside=
finish() {
    [ -z "$beside" ] || kill "$beside" 2>/dev/null || true
    rm -rf "$on_clock" "$said" "$caches"
}
trap finish EXIT

# sched(7), SCHED_IDLE: a test on the wall clock that wants a processor takes it from these at once.
# In the order of tests/conftest.py: without the option xdist begins with the files that have most tests, however short.
chrt --idle 0 "${command[@]}" -m "$BESIDE" --numprocesses=auto --dist=loadfile \
    --no-loadscope-reorder -o "cache_dir=$caches/beside" "$@" >"$said" 2>&1 &
beside=$!

code=0
"${command[@]}" -m "$ON_CLOCK" -o "cache_dir=$caches/clock" "$@" | tee "$on_clock" || code=$?
echo "airqueue: the tests on the wall clock have ended with $code; the others go on"
others=0
wait "$beside" || others=$?
beside=
cat "$said"
if [ "$code" -ne 0 ] && [ "$code" -ne "$NOTHING_CHOSEN" ]; then
    # Once more at the end, where whoever reads looks first.
    echo "airqueue: what failed on the wall clock:"
    sed -n -E '/^=+ (ERRORS|FAILURES) =+$/,$p' "$on_clock" | tail -n 200
fi

if [ "$code" -eq "$NOTHING_CHOSEN" ] && [ "$others" -eq "$NOTHING_CHOSEN" ]; then
    echo "airqueue: no test is chosen by: $*" >&2
    exit "$NOTHING_CHOSEN"
fi

# Runs what failed once more: the CODE of a run, the NAME of its cache, its MARKS and the arguments.
again() {
    local code=$1 cache=$caches/$2 marks=$3 failed
    shift 3
    [ "$code" -eq "$FAILURES" ] || return "$code"
    mapfile -t failed < <(sed -n -E 's/^ *"(.+)": true,?$/\1/p' "$cache/v/cache/lastfailed")
    [ "${#failed[@]}" -gt 0 ] && [ "${#failed[@]}" -le "$FEW" ] || return "$code"
    echo "airqueue: failed beside other tests, run once more alone: ${failed[*]}"
    "${command[@]}" -m "$marks" -o "cache_dir=$cache" --last-failed "$@" || return
    echo "airqueue: passed only alone, to be mended: ${failed[*]}"
}
[ "$code" -eq 0 ] || [ "$code" -eq "$NOTHING_CHOSEN" ] || again "$code" clock "$ON_CLOCK" "$@"
[ "$others" -eq 0 ] || [ "$others" -eq "$NOTHING_CHOSEN" ] || again "$others" beside "$BESIDE" "$@"
