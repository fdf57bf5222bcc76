"""Records anew what the tests of `airqueued` read, as root.

`PYTHONPATH=.:tests python -m wifi_vm.rerecord` boots a kernel with TXQs and one without, builds an
access point and a mesh in each, and keeps cfg80211's answers in `crates/airqueued/tests/recorded/`.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from wifi_vm import image, machine, networks

HERE = Path(__file__).parent
RECORDED = HERE.parent.parent / "crates" / "airqueued" / "tests" / "recorded"
# hwsim has a survey of channels that it has scanned. While an access point announces another channel
# and keeps silent until then, its queues do not drain.
SCRIPT = """
set -e
radios 5
access_point
mesh
record() { within $1 PYTHON record.py "${@:2}"; }
within ap ping -c 3 -i 0.2 10.9.0.2 >/dev/null
within sta ping -c 3 -i 0.2 -Q 0xb8 10.9.0.1 >/dev/null
record ap wlan0 0 ap wiphy interface station
record m2 wlan2 2 mesh interface station mpath
within sta timeout 20 iw dev wlan1 scan >/dev/null || true
record sta wlan1 1 station survey station
[ TXQS = True ] || exit 0
[ "$(within ap hostapd_cli -i wlan0 chan_switch 100 2437 blocktx ht)" = OK ]
within ap PYTHON flood.py 10.9.0.2 400
record ap wlan0 0 full wiphy station
"""


def main() -> None:
    machine.install()
    for txqs in (True, False):
        kernel = image.build(txqs=txqs)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            script = networks.ALL + SCRIPT.replace("PYTHON", sys.executable).replace(
                "TXQS", str(txqs)
            )
            files = {each: HERE / each for each in ("record.py", "flood.py")}
            ran = machine.run(kernel, script, folder, files)
            if ran.code != 0:
                raise SystemExit(f"{kernel.release}: {ran.output}")
            for path in folder.glob("*/*.netlink"):
                to = (
                    RECORDED
                    / ("txqs" if txqs else "before-txqs")
                    / f"{path.parent.name}-{path.name}"
                )
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, to)
            print(f"{kernel.release}: {ran.wall_s:.0f} s")


if __name__ == "__main__":
    main()
