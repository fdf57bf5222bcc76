"""A network that has figures of every kind."""

NETWORK = {
    "duration": "50 ms",
    "phy": {"standard": "802.11b"},
    "stations": [
        {"name": "ap"},
        {"name": "sta", "power_save": {}, "scans": {"period": "5 s", "first": "10 ms"}},
    ],
    "beacons": [{"station": "ap"}],
    "flows": [
        {"name": source, "from": "ap", "to": "sta", "source": source}
        for source in ("tcp", "voice", "ping", "frames")
    ],
}
