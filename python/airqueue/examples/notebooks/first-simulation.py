# A first simulation in a notebook: what does the access point's queue do to a call?
#
# The cells build a network in Python, simulate it, change one value, and compare.
#
#     airqueue examples notebooks/first-simulation.py --out first.ipynb

# %% [markdown]
# # A first simulation
#
# A laptop downloads while a phone makes a call, at an access point of 802.11g as the APQ paper measured it.

# %%
import airqueue

network = {
    "duration": "10 s",
    "phy": {"standard": "802.11g", "rate": "24 Mb/s"},
    "stations": [{"name": "ap", "like": "apq-2011"}, {"name": "laptop"}, {"name": "phone"}],
    "flows": [
        {"name": "download", "from": "ap", "to": "laptop", "source": "tcp"},
        {"name": "call", "from": "ap", "to": "phone", "source": "voice"},
    ],
}
before = airqueue.simulate(network, replications=3)
before

# %% [markdown]
# How good is the call? `summary` has the mean of each figure and its 95 % confidence interval; units are in the names.

# %%
call = before.summary["calls"]["call"]
call["mos"], call["mouth_to_ear_s"]

# %% [markdown]
# The call's packets wait behind the download's. How long, and in which queue?

# %%
queue = before.summary["queues"]["ap"]
queue["length_mean_packets"], queue["sojourn_mean_s"], before.queues_in_force[0]

# %% [markdown]
# With a queue for each flow the call does not wait for the download.

# %%
after = airqueue.simulate(network, {"stations.ap.queue.discipline": "fq_codel"}, replications=3)
better = after.summary["calls"]["call"]
better["mos"], better["mouth_to_ear_s"]

# %%
assert better["mouth_to_ear_s"]["mean"] < call["mouth_to_ear_s"]["mean"] / 2
assert better["mos"]["mean"] > call["mos"]["mean"]
