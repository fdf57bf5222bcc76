"""A reader of ``hostapd.conf`` for tests: the values back from the lines, by hostapd's own rules."""

WINDOWS = {2**k - 1 for k in range(1, 16)}
QUEUES = {"0": "vo", "1": "vi", "2": "be", "3": "bk"}


def read(lines):
    """Return ``{"station"|"ap": {category: {field: number}}}``; fields outside hostapd's ranges fail.

    Windows come back as numbers of values, AIFS as AIFSN, the TXOP in seconds as drivers get it.
    """
    found = {"station": {}, "ap": {}}
    for line in lines:
        key, equals, value = line.partition("=")
        if line.startswith("#") or key == "wmm_enabled":
            continue
        assert equals, line
        if key.startswith("wmm_ac_"):
            category, field = key.removeprefix("wmm_ac_").split("_", 1)
            found["station"].setdefault(category, {})[field] = _station(field, value)
        else:
            queue, field = key.removeprefix("tx_queue_data").split("_", 1)
            found["ap"].setdefault(QUEUES[queue], {})[field] = _ap(field, value)
    return found


def _station(field, value):
    number = int(value)
    if field in ("cwmin", "cwmax"):
        assert 0 <= number <= 15
        return 2**number
    if field == "aifs":
        assert 2 <= number <= 15
    if field == "txop_limit":
        assert 0 <= number <= 0xFFFF
        return number * 32e-6
    return number


def _ap(field, value):
    if field in ("cwmin", "cwmax"):
        assert int(value) in WINDOWS
        return int(value) + 1
    if field == "burst":
        whole, _, tenth = value.partition(".")
        return (100 * (10 * int(whole) + int(tenth or 0)) + 16) // 32 * 32e-6
    assert 1 <= int(value) <= 15
    return int(value)
