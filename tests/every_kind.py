"""A network that has figures of every kind."""

NETWORK = {
    "duration": "50 ms",
    "phy": {"standard": "802.11b"},
    "stations": [
        {"name": "ap"},
        {"name": "sta", "power_save": {}, "scans": {"period": "5 s", "first": "10 ms"}},
        {"name": "guest", "association": {"access_point": "ap"}},
    ],
    "beacons": [{"station": "ap"}],
    "medium": {"snr": "40 dB"},
    "links": [{"between": ["ap", "sta"], "snr_trace": {"time_s": [0], "snr_db": [40]}}],
    "interference": [{"name": "oven", "microwave": {}, "level": "sense"}],
    "flows": [
        {"name": source, "from": "ap", "to": "sta", "source": source}
        for source in ("tcp", "voice", "ping", "frames", "page", "video")
    ],
}
