#!/usr/bin/env bash
# Builds one wheel for CPython 3.11 and later, and tries it in a bare virtual environment of each interpreter
# that there is: an example is simulated, its report written, a model evaluated.
#
#   scripts/wheel.sh DIRECTORY
set -euo pipefail

out=$1
maturin build --quiet --release --locked --strip --out "$out"
wheel=$(ls -t "$out"/airqueue-*.whl | head -n 1)
echo "airqueue: $wheel, $(($(stat -c %s "$wheel") / 1000)) kB"

try() {
    local python=$1 folder
    folder=$(mktemp -d)
    # shellcheck disable=SC2064 - of this function's folder
    trap "rm -rf '$folder'" RETURN
    local began=$SECONDS
    "$python" -m venv "$folder/venv"
    local bare
    bare=$(du -sm "$folder/venv" | cut -f 1)
    "$folder/venv/bin/pip" install --quiet "$wheel"
    (
        cd "$folder"
        PATH="$folder/venv/bin:$PATH"
        airqueue examples saturated-cell |
            airqueue simulate - --set duration=1s --set warm_up=0s --replications 2 --report cell.html >said
        grep -q upload10 said
        grep -q '</svg>' cell.html
        airqueue model bianchi n=10 >said
        grep -q collision_probability said
    )
    local size
    size=$(($(du -sm "$folder/venv" | cut -f 1) - bare))
    echo "airqueue: $("$python" --version): installed and tried in $((SECONDS - began)) s, $size MiB with all dependencies"
}

tried=0
for python in python3.11 python3.12 python3.13 python3.14 python3.15; do
    # A name may be there without its interpreter (pyenv).
    if "$python" -c '' 2>/dev/null; then
        try "$python"
        tried=$((tried + 1))
    fi
done
[ "$tried" -gt 0 ] || { echo "airqueue: no CPython 3.11 or later on the PATH" >&2; exit 1; }
