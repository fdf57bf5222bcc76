#!/usr/bin/env bash
# Manual pages of all three commands, and what lets shells complete them, below the directory SHARE.
#
#   scripts/pages.sh SHARE
#
# PYTHON is an interpreter with airqueue in it. Cargo builds without optimisation: these pages need no speed.
set -euo pipefail

share=${1:?usage: scripts/pages.sh SHARE}
"${PYTHON:-python3}" "$(dirname "$0")/man_pages.py" "$share"
cargo run --quiet --locked -p airqueue-manual -- "$share"
