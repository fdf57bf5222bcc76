#!/bin/sh
# Prints the path of the first Python that is new enough (3.11, as pyproject.toml says).
set -eu
for name in python3 python3.14 python3.13 python3.12 python3.11; do
    path=$(command -v "$name" 2>/dev/null) || continue
    if "$path" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        # The interpreter itself, not a shim that depends on the directory it is called from.
        "$path" -c 'import sys; print(sys.executable)'
        exit 0
    fi
done
echo "airqueue needs Python 3.11 or newer and found none on PATH;" \
    "install one (apt-get install python3), or name it: make PYTHON=/path/to/python3" >&2
exit 1
