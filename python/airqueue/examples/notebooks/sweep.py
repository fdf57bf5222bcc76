# A sweep in a notebook: how large should an access point's queue be?
#
# The cells simulate one download with queues of several sizes, and show what more room costs in delay and brings in
# throughput.
#
#     airqueue examples notebooks/sweep.py --out sweep.ipynb

# %% [markdown]
# # A sweep over the limit of a queue
#
# One TCP download over 802.11g, to a server that is 40 ms away.

# %%
import airqueue

network = {
    "duration": "10 s",
    "warm_up": "3 s",
    "phy": {"standard": "802.11g", "rate": "54 Mb/s"},
    "stations": [{"name": "ap"}, {"name": "laptop"}],
    "hosts": [{"name": "server", "link": "ap", "delay": "20 ms"}],
    "flows": [{"name": "download", "from": "server", "to": "laptop", "source": "tcp"}],
}
limits = [5, 20, 100, 400]

# %% [markdown]
# A loop is enough for a few points. `airqueue sweep` and `airqueue.sweep` are for many: they keep each run, and stop when
# intervals are narrow.

# %%
points = {
    limit: airqueue.simulate(network, {"stations.ap.queue": f"pfifo:{limit}"}, replications=2)
    for limit in limits
}
rows = [
    (
        limit,
        results.summary["flows"]["download"]["throughput_bps"]["mean"] / 1e6,
        results.summary["queues"]["ap"]["sojourn_mean_s"]["mean"] * 1e3,
    )
    for limit, results in points.items()
]
for limit, throughput, wait in rows:
    print(f"{limit:4} packets: {throughput:5.2f} Mb/s, {wait:6.1f} ms in the queue")

# %% [markdown]
# Little's law: what waits is what arrives each second times how long it waits.

# %%
for results in points.values():
    queue = results.summary["queues"]["ap"]
    seconds = results.duration_s
    waiting = queue["dequeued_packets"]["mean"] / seconds * queue["sojourn_mean_s"]["mean"]
    assert abs(waiting - queue["length_mean_packets"]["mean"]) < 0.05 * waiting + 0.1

# %%
assert rows[0][1] < rows[-1][1], "a queue of 5 packets starves the link"
assert rows[0][2] < rows[-1][2], "a longer queue makes packets wait longer"
