#!/usr/bin/env bash
# The Python tests: first those without a clock, several at a time, then those on the wall clock, one after the
# other, which others would make late.
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

chosen=no
run() {
    local code=0
    "${command[@]}" "$@" || code=$?
    [ "$code" -eq "$NOTHING_CHOSEN" ] || chosen=yes
    [ "$code" -eq 0 ] || [ "$code" -eq "$NOTHING_CHOSEN" ] || exit "$code"
}
# In the order of tests/conftest.py: without the option xdist begins with the files that have most tests, however short.
run -m "not wall_clock and not long" --numprocesses=auto --dist=loadfile --no-loadscope-reorder "$@"
run -m "wall_clock and not long" "$@"
if [ "$chosen" = no ]; then
    echo "airqueue: no test is chosen by: $*" >&2
    exit "$NOTHING_CHOSEN"
fi
