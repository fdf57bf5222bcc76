"""A network that has figures of every kind."""

NETWORK = {
    "duration": "50 ms",
    "phy": {"standard": "802.11b"},
    "stations": [{"name": "ap"}, {"name": "sta", "power_save": {}}],
    "beacons": [{"station": "ap"}],
    "flows": [
        {"name": source, "from": "ap", "to": "sta", "source": source}
        for source in ("tcp", "voice", "ping", "frames")
    ],
}
