# A paper's figure in a notebook: Bianchi's collision probability beside simulations.
#
# G. Bianchi, Performance analysis of the IEEE 802.11 distributed coordination function, IEEE JSAC 18 (2000): how often
# attempts of n stations collide that always have packets. The cells compute the model and simulate the same cells.
#
#     airqueue examples notebooks/papers-figure.py --out figure.ipynb

# %% [markdown]
# # Bianchi's model beside simulations
#
# 802.11b: contention windows of 32 to 1024 values; seven transmissions of a packet at most.

# %%
import airqueue

stations = [2, 5, 10, 20]
model = airqueue.models.bianchi(stations, cw_min=31, cw_max=1023, retries=6)
model.collision_probability.round(3)

# %% [markdown]
# The same cells frame by frame. `collided_ratio` is the share of attempts that collide.

# %%
from airqueue.simulate import cell

simulated = [
    cell("802.11b", stations=n, duration="4 s")
    .simulate(replications=3)
    .summary["medium"]["collided_ratio"]
    for n in stations
]
[round(each["mean"], 3) for each in simulated]

# %% [markdown]
# The figure, where matplotlib is installed (`pip install 'airqueue[plots]'`).

# %%
try:
    import matplotlib.pyplot as plt
except ModuleNotFoundError:
    print("pip install 'airqueue[plots]' draws the figure")
else:
    figure, axes = plt.subplots(layout="constrained")
    axes.plot(stations, model.collision_probability, label="model")
    half = [(each["ci95"][1] - each["ci95"][0]) / 2 for each in simulated]
    axes.errorbar(stations, [each["mean"] for each in simulated], half, fmt="o", label="simulation")
    axes.set(xlabel="stations", ylabel="collision probability")
    axes.legend()

# %% [markdown]
# The model is right to 6 % from a CWmin of 15 on, says its page; three replications of four seconds add some noise.

# %%
for predicted, each in zip(model.collision_probability, simulated, strict=True):
    assert abs(each["mean"] - predicted) < 0.1 * predicted
