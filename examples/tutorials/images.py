# %% [markdown]
# # Images: strokes as latent features
#
# A picture of a digit shows some strokes and not others. That is what a latent feature model says: each of `K`
# features is on or off in a picture, and the pixels follow from the features that are on. The Indian buffet process
# takes features to come independently. `BetaBernoulliFeatures` learns which go together (the two sides of a zero) and
# which avoid each other.
#
# The pictures are scikit-learn's 1,797 handwritten digits of 8 x 8 pixels, so that everybody can run this. Given a
# folder with larger ones (`counts.npz`, rows x pixels, zeros and ones; `columns.txt` with names like `r12c7` for the
# pixel in line 12, place 7, of 28 x 28), the last section looks at those as well:
#
#     python examples/tutorials/images.py [mnist_t10k_binary]

# %%
import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits

from cormorant.estimators import IBP, BetaBernoulliFeatures, TruncationWarning
from cormorant.explore import figures
from cormorant.explore.figures.images import component_pictures

warnings.simplefilter("ignore", TruncationWarning)
digits = load_digits()
y = (digits.data > 7).astype(float)
print(y.shape, f"{y.mean():.0%} of the pixels are on")

# %% [markdown]
# ## Hide a fifth of the pixels
#
# Hidden pixels are missing, not dark: `mask` says where they are, and the fit never looks at them. The correlated
# model and its uncorrelated limit then say how likely each hidden pixel is to be on.

# %%
hidden = np.random.default_rng(0).random(y.shape) < 0.2
settings = {"likelihood": "bernoulli", "n_starts": 1, "n_sweeps": 100, "random_state": 0}
models = {
    "correlated": BetaBernoulliFeatures(40, **settings).fit(y, mask=hidden),
    "independent": IBP(40, **settings).fit(y, mask=hidden),
}
share = y[~hidden].mean()
print(f"column-blind guess   {-(share * np.log(share) + (1 - share) * np.log(1 - share)):.3f} nats a pixel")
for name, model in models.items():
    print(f"{name:20} {-model.log_likelihood(y, hidden):.3f}   {model.n_components_used_} features in use")

# %% [markdown]
# ## What the features look like
#
# Each picture is one feature: what it adds to the chance of every pixel, `sigmoid(a_0 + a_k) - sigmoid(a_0)`, in a
# digit that shows nothing else (what it takes away is left dark). Below it, the share of the digits that show it.

# %%
model = models["correlated"]
ax = figures.component_images(model, (8, 8), n=40, across=10)
ax.figure.set_size_inches(9, 5)
plt.show()

# %% [markdown]
# ## Filling in
#
# Six digits, what was shown of them, and the probability of every pixel given that.

# %%
chosen = [int(np.flatnonzero(digits.target == digit)[0]) for digit in (0, 2, 3, 5, 6, 9)]
filled = model.predict_mean(y[chosen], mask=hidden[chosen])
fig, axes = plt.subplots(3, len(chosen), figsize=(7, 3.8))
shown = np.where(hidden[chosen], 0.5, y[chosen])
for line, pictures in zip(axes, (y[chosen], shown, filled), strict=True):
    for ax, picture in zip(line, pictures, strict=True):
        ax.imshow(picture.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
for ax, title in zip(axes[:, 0], ("the digit", "shown (grey: hidden)", "filled in"), strict=True):
    ax.set_ylabel(title, fontsize=8)
plt.show()

# %% [markdown]
# ## Which strokes go together
#
# `correlation_` is `l_k . l_m / (|l_k| |l_m|)`. The most and the least correlated pairs among the features that a fifth
# of the digits or more show (purple: the pixel becomes likelier, orange: less likely):

# %%
common = np.flatnonzero(model.usage_ > 0.2)
first, second = np.triu_indices(len(common), 1)
order = np.argsort(model.correlation_[common[first], common[second]])
pairs = [(common[first[i]], common[second[i]]) for i in (*order[::-1][:4], *order[:4])]
added = component_pictures(model, (8, 8))
fig, axes = plt.subplots(2, len(pairs), figsize=(9, 2.8))
for column, (a, b) in zip(axes.T, pairs, strict=True):
    column[0].set_title(f"{model.correlation_[a, b]:+.2f}", fontsize=9)
    for ax, k in zip(column, (a, b), strict=True):
        ax.imshow(added[k], cmap="PuOr", vmin=-1, vmax=1)
        ax.axis("off")
plt.show()

# %% [markdown]
# ## Strokes
#
# A binary feature may also take pixels away, as the orange ones do. With `likelihood="poisson"` atoms are positive: a
# feature can only add ink, a picture is the sum of its features, and they come out as strokes. Here of two thousand of
# MNIST's test images (28 x 28, pixels on or off), if their folder was given. (A pixel is no Poisson count, since it is
# at most one. So take the binary model to fill pixels in, and this one to see what pictures are made of.)

# %%
if len(sys.argv) > 1:
    folder = Path(sys.argv[1])
    images = sparse.load_npz(folder / "counts.npz")[:2000].toarray().astype(float)
    places = [name[1:].split("c") for name in (folder / "columns.txt").read_text().split()]
    pixels = np.array([28 * int(line) + int(place) for line, place in places])
    settings = {"likelihood": "poisson", "n_starts": 1, "n_sweeps": 100, "random_state": 0}
    strokes = BetaBernoulliFeatures(100, 15, **settings).fit(images)
    print(strokes.n_components_used_, "strokes in use,", f"{strokes.transform(images).sum(axis=1).mean():.1f} a digit")
    ax = figures.component_images(strokes, (28, 28), pixels=pixels, n=48, across=12)
    plt.show()

# %% [markdown]
# Six digits, and what each is made of: its background and strokes added up, then the strokes that it shows most surely.

# %%
if len(sys.argv) > 1:
    chosen = [3, 2, 1, 18, 4, 8]
    shown = strokes.transform(images[chosen])
    canvas = np.zeros((len(chosen), 28 * 28))
    canvas[:, pixels] = images[chosen]
    summed = np.zeros_like(canvas)
    summed[:, pixels] = strokes.inverse_transform(shown)
    parts = component_pictures(strokes, (28, 28), pixels)
    fig, axes = plt.subplots(len(chosen), 10, figsize=(9, 5.6))
    for line, digit, whole, features in zip(axes, canvas, summed, shown, strict=True):
        surest = np.argsort(-features)[:8]
        for ax, picture in zip(line, [digit.reshape(28, 28), whole.reshape(28, 28), *parts[surest]], strict=True):
            ax.imshow(picture, cmap="gray_r", vmin=0)  # each scaled to its darkest pixel
            ax.set(xticks=[], yticks=[])
    for ax, title in zip(axes[0], ("digit", "sum", "strokes"), strict=False):
        ax.set_title(title, fontsize=8)
    plt.show()
