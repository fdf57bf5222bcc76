//! Scenarios for tests.

use serde_json::{Value, json};

/// A scenario with most of the keys that there are.
pub fn full() -> Value {
    json!({
        "behaviour": "standard",
        "duration": "2 s",
        "warm_up": "100 ms",
        "phy": {
            "standard": "802.11g", "preamble": "long", "slot": "long", "rate": "54 Mb/s",
            "control_rate": "24 Mb/s"
        },
        "mac": {
            "access": "edca", "rts_threshold": "1 kB", "short_retry_limit": 7, "long_retry_limit": 4,
            "protection": "cts_to_self", "protection_rate": "11 Mb/s",
            "edca": {
                "edition": "2016", "role": "station",
                "be": {"aifsn": 3, "cw_min": 15, "cw_max": 1023, "txop": "0 us", "countdown": "edca"},
                "vo": {"txop": "2 packets"}
            }
        },
        "queue": {"limit": "50 packets", "drop_from": "tail", "ring": "2 packets"},
        "medium": {
            "path_loss": {"two_ray": {"frequency": "914 MHz", "antenna_height": "1.5 m"}},
            "thresholds": {"decode": "-64.4 dBm", "sense": "-78.1 dBm", "interfere": "-80 dBm"},
            "noise_figure": "7 dB",
            "capture": {"sinr": {"threshold": "10 dB", "preamble_detection": "4 us"}},
            "errors": {"frame": 0.01}
        },
        "stations": [
            {"name": "ap", "position": ["0 m", "0 m"], "power": "24.5 dBm",
             "mac": {"edca": {"role": "access_point"}}, "queue": {"limit": "75 kB"}},
            {"name": "sta", "count": 3, "circle": "10 m", "rate": "24 Mb/s",
             "queue": {"discipline": "codel", "codel": {"target": "20 ms", "interval": "100 ms",
                "mtu": "1514 B", "ecn": true, "ce_threshold": "1 ms"}}},
            {"name": "far", "count": 2, "position": ["400 m", "0 m"], "step": ["5 m", "0 m"],
             "queue": {"discipline": "fq_codel", "fq_codel": {"flows": 64, "quantum": "300 B",
                "drop_batch": "8 packets"}}},
            {"name": "old", "position": ["20 m", "0 m"], "mac": {"access": "dcf", "dcf": {"cw_min": 31}},
             "queue": {"discipline": "red", "red": {"min": "15 kB", "max": "45 kB", "probability": 0.1,
                "burst": "30 packets", "gentle": true, "rate": "6 Mb/s"}}}
        ],
        "flows": [
            {"from": "sta", "to": "ap", "category": "vo", "size": "200 B"},
            {"name": "down", "from": "ap", "to": "sta", "source": "poisson", "rate": "1 Mb/s",
             "phy_rate": "12 Mb/s", "start": "1 ms", "stop": "1.5 s"},
            {"name": "legacy", "from": "old", "to": "ap", "source": "cbr", "packet_rate": "50 packets/s"},
            {"name": "there", "from": "far1", "to": "far2"}
        ]
    })
}
