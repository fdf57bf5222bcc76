#!/bin/sh
# Diagnose, set what is recommended, diagnose again. Runs at the phone of an emulation with --control.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo "== Why does it lag?"
airqueue diagnose server --direction down --json "$folder/before.json"
echo
echo "== Setting flow queueing at the access point; its queue is the kernel's here, and needs no shaper"
airqueue ctl set station=ap queue=fq_codel
echo
echo "== And now?"
airqueue diagnose server --direction down --again "$folder/before.json"
