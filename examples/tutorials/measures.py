# %% [markdown]
# # The measures themselves: a walk through the theory by experiment
#
# The [page on theory](../theory.md) states what `cormorant.measures` computes. Here we draw, measure and check: every
# claim below is tried against a simulation or a closed form. No data, no inference; the whole script takes seconds.

# %%
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from cormorant.measures import (
    GammaAtoms,
    GammaProcess,
    GaussianLocations,
    Tuples,
    UncorrelatedGamma,
    cnpf,
    completely_random,
    component_correlation,
    correlated_gamma_process,
    expected_total,
    finiteness,
    laplace_functional,
    softplus_cnpf,
    weight_moments,
)

rng = np.random.default_rng(0)
pd.set_option("display.width", 120, "display.precision", 3)

# %% [markdown]
# ## Infinitely many weights, a finite sum
#
# A gamma process puts infinitely many weights on the line, all but a few of them tiny: there are `N(w) = mass E1(c
# w)` weights above `w`, which grows without end as `w` falls, but so slowly that the sum is finite. The sum is a
# Gamma(mass, c) variable. We draw the largest 300 weights of 2,000 processes and compare.

# %%
process = GammaProcess(mass=5.0, rate=1.0)
draws = [process.sample(rng, number=300) for _ in range(2000)]
totals = np.array([draw.values.sum() for draw in draws])
print(f"mean {totals.mean():.3f} (5), variance {totals.var():.3f} (5), left out on average {draws[0].left_out:.1e}")

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.0), layout="constrained")
for draw in draws[:5]:
    left.plot(np.arange(1, 61), draw.values[:60], linewidth=1)
left.set(yscale="log", xlabel="rank", ylabel="weight $w$", title="five draws, largest first", ylim=(1e-9, 10))
grid = np.linspace(0.01, 15, 200)
right.hist(totals, bins=40, density=True, color="#bbbbbb", label="simulated")
right.plot(grid, grid**4 * np.exp(-grid) / 24, color="#0072B2", label="Gamma(5, 1)")
right.set(xlabel="total mass", title="their sums")
right.legend(frameon=False)

# %% [markdown]
# The weights fall off geometrically. That is why a truncation at fifty or two hundred components is harmless when the
# mass is small, and why a fit in which *all* components are used asks for more: the posterior mass has outgrown the
# truncation.
#
# ## Completely random means independent
#
# In a completely random measure, what lies in one set says nothing about what lies in another. A hierarchy of gamma
# processes keeps that: given the shared atoms, each group's weights are independent. The correlated measure breaks it
# on purpose. The same tuples, with and without:

# %%
correlated = correlated_gamma_process(process, GammaAtoms(3), GaussianLocations(2, variance=0.5))
independent = replace(correlated, transform=UncorrelatedGamma())
locations = np.array([[1.2, 0.0], [1.0, 0.5], [-1.1, 0.2], [0.0, 1.2]])
tuples = Tuples(atoms=np.ones((4, 3)), weights=np.full(4, 2.0), locations=locations)
for name, measure in (("independent", independent), ("correlated", correlated)):
    x = measure.sample_groups(50_000, rng, tuples=tuples).weights
    print(f"{name}: simulated correlations of x\n{np.corrcoef(x.T).round(2)}")

# %% [markdown]
# Components 0 and 1 point the same way and go together, 2 points against them, 3 is at a right angle to 0. The closed
# form says the same without a simulation, for the weights `x` and for the random function `F` behind them:

# %%
print(f"of x, in closed form\n{weight_moments(correlated, tuples).correlation.round(2)}")
print(f"of F: the paper's rho\n{component_correlation(locations).round(2)}")

# %% [markdown]
# ## Why the weights are less correlated than rho says
#
# The paper reports `rho`, the correlation of `F`. What is seen in data is `x`, and two things stand between: the
# gamma draw adds noise of its own, the more so the smaller `w` is; and `exp` bends, so that negative correlations are
# squeezed (a log-normal cannot be far below its mean). Two components at a distance, for several weights:

# %%
angles = np.linspace(0, np.pi, 61)
fig, ax = plt.subplots(figsize=(6.0, 3.6), layout="constrained")
for w, style in ((0.1, ":"), (1.0, "--"), (10.0, "-."), (1000.0, "-")):
    seen = []
    for angle in angles:
        pair = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])
        seen.append(weight_moments(correlated, Tuples(np.ones((2, 3)), np.full(2, w), pair)).correlation[0, 1])
    ax.plot(np.cos(angles), seen, style, color="#0072B2", label=f"w = {w:g}")
ax.plot([-1, 1], [-1, 1], color="#bbbbbb", linewidth=1, label="equal")
ax.set(xlabel=r"$\rho$, the correlation of $F$ (locations of length 1)", ylabel="correlation of the weights $x$")
ax.legend(frameon=False)

# %% [markdown]
# The lesson for reading a fit: a `rho` of -0.9 between two components of weight 0.1 is a statement about a function
# that you hardly see. `tables.correlations` lists both numbers, and pairs are looked for among heavily used
# components.
#
# ## Checking with the Laplace functional
#
# `E exp(-r M(E))` characterises the law of the total. For the completely random measure it is `(1 + r / c)^-mass`;
# for the correlated one the library integrates. Against a simulation (with three standard errors of it):

# %%
plain = completely_random(process, GammaAtoms(3))
lines = []
for name, measure in (("completely random", plain), ("correlated", correlated)):
    totals = np.array([measure.sample(rng, tail_mass=1e-3).total for _ in range(2000)])
    for r in (0.1, 0.5, 2.0):
        simulated = np.exp(-r * totals)
        computed = laplace_functional(measure, r=r, rng=0).value
        lines.append((name, r, computed, simulated.mean(), 3 * simulated.std() / np.sqrt(len(totals))))
table = pd.DataFrame(lines, columns=["measure", "r", "computed", "simulated", "3 errors"])
print(table.to_string(index=False))

# %% [markdown]
# ## Finite, and finite on average, are two things
#
# With the exponential link, `E M(E) = mass (1 - sigma^2)^(-D / 2)` for a variance `sigma^2` of the locations below
# one, and infinite from there on, though every single draw stays finite. The softplus link never has that border.

# %%
for variance in (0.3, 0.9, 1.2):
    locations = GaussianLocations(2, variance=variance)
    wide = cnpf(process, GammaAtoms(3), locations)
    verdict = str(finiteness(wide)).splitlines()[-1]
    print(f"variance {variance}: {verdict}" + (f": {expected_total(wide):.2f}" if variance < 1 else ""))
print(finiteness(softplus_cnpf(process, GammaAtoms(3), GaussianLocations(2, variance=1.2))))

# %%
fig, ax = plt.subplots(figsize=(6.0, 3.2), layout="constrained")
for variance, style in ((0.3, "-"), (1.2, "--")):
    measure = cnpf(process, GammaAtoms(3), GaussianLocations(2, variance=variance))
    totals = np.array([measure.sample(rng, number=200).total for _ in range(4000)])
    running = np.cumsum(totals) / np.arange(1, len(totals) + 1)
    ax.plot(running, style, label=f"location variance {variance}")
ax.axhline(5 / 0.7, color="#bbbbbb", linewidth=1, label="5 / (1 - 0.3)")
ax.set(xlabel="draws", ylabel="running mean of $M(E)$", yscale="log")
ax.legend(frameon=False)

# %% [markdown]
# Below the border the running mean settles where the formula says. Above it, it never settles: now and then a draw
# comes along that alone lifts the mean of all before it. In a fit this does no harm (data are finite), but it is why
# the defaults keep the prior variance of the locations small (1/250 in the paper; 0.04 here).
