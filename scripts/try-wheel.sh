#!/usr/bin/env bash
# Tries a wheel in a bare virtual environment of each CPython from 3.11 on that is on the PATH or is pyenv's: an example
# is simulated, its report written, a model evaluated; the other two programs, the pages and the completion are there.
#
#   scripts/try-wheel.sh WHEEL
set -euo pipefail

# What the files of airqueue and of all dependencies take, with the bytecode that pip compiles, and how long a newcomer waits for the first result.
readonly LARGEST_MB=100 LONGEST_S=60
wheel=$(realpath "${1:?usage: scripts/try-wheel.sh WHEEL}")

fail() {
    echo "airqueue: $*" >&2
    exit 1
}

# Interpreters from 3.11 on, one for each version. A name may be there without its interpreter (pyenv).
interpreters() {
    local -A seen=()
    local python version
    for python in python3.{11..19} "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python; do
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
        [ "${version#3.}" -ge 11 ] && [ -z "${seen[$version]:-}" ] || continue
        "$python" -c 'import ensurepip, venv' 2>/dev/null || continue
        seen[$version]=1
        echo "$python"
    done
}

# The job of the README, and what else is installed; in an environment's folder, with its programs on the PATH.
use() {
    airqueue examples saturated-cell |
        airqueue simulate - --set duration=1s --set warm_up=0s --replications 2 --report cell.html >said
    grep -q upload10 said
    grep -q '</svg>' cell.html
    airqueue model bianchi n=10 >said
    grep -q collision_probability said
    airqueue schema simulation >said
    grep -q '"\$schema"' said
    airqueue places --json >said
    airqueue-endpoint --version >said
    local share=venv/share page
    for page in airqueue airqueue-model-bianchi airqueued-apply airqueue-endpoint-server; do
        [ -s "$share/man/man1/$page.1" ] || fail "the wheel has no manual page $page.1"
    done
    # shellcheck disable=SC1091 - of the environment
    source "$share/bash-completion/completions/airqueued"
    # shellcheck disable=SC1091
    source "$share/bash-completion/completions/airqueue"
    # shellcheck disable=SC2034 - the shell's own variables
    COMP_WORDS=(airqueue simu) COMP_CWORD=1 COMPREPLY=()
    _airqueue_completion airqueue
    [ "${COMPREPLY[0]}" = simulate ] || fail "bash completes 'airqueue simu' to '${COMPREPLY[*]}'"
    complete -p airqueued >said
}

# The MB of a folder's files: all, or those without what Python compiles when pip or a first start asks for it.
megabytes() {
    find "$1" -type f "${@:2}" -printf '%s\n' | awk '{ sum += $1 } END { printf "%d", sum / 1e6 }'
}
readonly NO_CACHES=(-not -path '*/__pycache__/*')

try() {
    local python=$1 folder began bare_all bare all own took
    folder=$work/$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    mkdir "$folder"
    "$python" -m venv "$folder/venv"
    bare_all=$(megabytes "$folder/venv")
    bare=$(megabytes "$folder/venv" "${NO_CACHES[@]}")
    began=$SECONDS
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check "$wheel"
    all=$(($(megabytes "$folder/venv") - bare_all))
    own=$(($(megabytes "$folder/venv" "${NO_CACHES[@]}") - bare))
    (cd "$folder" && PATH=$folder/venv/bin:/usr/bin:/bin use)
    took=$((SECONDS - began))
    echo "airqueue: $("$python" --version): installed and tried in $took s; $all MB with all dependencies, $((all - own)) of them compiled bytecode"
    [ "$all" -lt "$LARGEST_MB" ] || fail "the core takes $all MB with compiled bytecode, not below $LARGEST_MB"
    [ "$took" -lt "$LONGEST_S" ] || fail "the first result took $took s, not below $LONGEST_S"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
found=$(interpreters)
[ -n "$found" ] || fail "no CPython 3.11 or later with venv on the PATH"
for python in $found; do
    try "$python"
done
