"""A test of a program on Wi-Fi: does a page load within three seconds in a busy home?

    pytest examples/emulate/test_page.py

The page is fetched by ``urllib`` from Python's own server; put your programs in their places. On the
virtual clock the test gives the same result each time, without root (docs/emulate.md).
"""

import sys
from pathlib import Path
from typing import Any

SERVER = [sys.executable, "-m", "http.server", "80", "--directory"]
FETCH = """
import time, urllib.request
began = time.monotonic()
page = urllib.request.urlopen("http://peer/page").read()
print(len(page), time.monotonic() - began)
"""


def test_a_page_loads_within_three_seconds(airqueue_exact: Any, tmp_path: Path) -> None:
    """500 kB from a server to a phone, beside a film, downloads and a call."""
    (tmp_path / "page").write_bytes(bytes(500_000))
    done = airqueue_exact(
        "home-evening",
        "phone",
        [sys.executable, "-c", FETCH],
        others=[("server", [*SERVER, str(tmp_path)])],
        seed=1,
    )
    assert done.exit_code == 0
    size, seconds = done.stdout.split()
    assert int(size) == 500_000
    assert float(seconds) < 3
