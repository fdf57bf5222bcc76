#!/usr/bin/env bash
# The Python tests: those on the wall clock, one after the other; beside them, several at a time and only when a
# processor is free, those without a clock.
#
#   scripts/test-python.sh COMMAND... [-- ARGUMENTS OF PYTEST]
#
# COMMAND runs pytest, in a user namespace if need be. Arguments may choose tests of one kind alone.
set -euo pipefail

NOTHING_CHOSEN=5
command=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    command+=("$1")
    shift
done
[ $# -eq 0 ] || shift

on_clock=$(mktemp)
said=$(mktemp)
beside=
finish() {
    [ -z "$beside" ] || kill "$beside" 2>/dev/null || true
    rm -f "$on_clock" "$said"
}
trap finish EXIT

# sched(7), SCHED_IDLE: a test on the wall clock that wants a processor takes it from these at once.
# In the order of tests/conftest.py: without the option xdist begins with the files that have most tests, however short.
chrt --idle 0 "${command[@]}" -m "not wall_clock and not long" --numprocesses=auto --dist=loadfile \
    --no-loadscope-reorder "$@" >"$said" 2>&1 &
beside=$!

code=0
"${command[@]}" -m "wall_clock and not long" "$@" | tee "$on_clock" || code=$?
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
for each in "$code" "$others"; do
    [ "$each" -eq 0 ] || [ "$each" -eq "$NOTHING_CHOSEN" ] || exit "$each"
done
