# %% [markdown]
# # New York Times: which topics meet in an article
#
# The paper's section 6.2 fits correlated Poisson factorisation to articles of *The New York Times*, shows that it
# predicts held-out words better than the models without correlations, and then looks at the components: which go
# together, which avoid each other, how many there are. This tutorial does the same on the sample inside the package,
# in a few minutes on one core.
#
# The sample is smaller than the paper's data (8,447 articles x 3,002 words against 100,000 x 8,000) and was cut
# differently, so the numbers are not to be compared with the paper's; the questions are the same.

# %%
import warnings

import pandas as pd

from cormorant import compare, load_nyt
from cormorant.estimators import TruncationWarning
from cormorant.explore import figures, tables
from cormorant.explore.checks import predictive_check

pd.set_option("display.width", 120, "display.max_colwidth", 80, "display.precision", 2)
warnings.simplefilter("ignore", TruncationWarning)  # fifty components are a choice here; more of it below

counts = load_nyt()
print(counts)

# %% [markdown]
# ## Does it help to know that topics are correlated?
#
# `compare` keeps 1,000 articles aside, fits each model to the rest, shows it a tenth (then a half) of the words of
# each article kept aside, and asks for the others. The perplexity is the paper's: a model that had to guess among
# 1,500 equally likely words would have a perplexity of 1,500. Lower is better.
#
# All models factorise the counts alike and differ in how the weights of one article hang together:
#
# - `hgp`: not at all; every article has the same expected length;
# - `scaled-hgp`: not at all, but every article has a length of its own;
# - `cnpf`: through a Gaussian for each article, read at the components' locations. That carries the correlations.
#
# One chain of the sampler and fifty components keep this short. The defaults (eight chains or more, up to 200
# components) predict better and take longer.

# %%
found = compare(
    counts,
    ["hgp", "scaled-hgp", "cnpf"],
    n_held_out=1000,
    observed=(0.1, 0.5),
    seed=1,
    n_components=50,
    n_chains=1,
)
print(found.table().drop(columns="seconds").round(1).to_string())

# %%
figures.model_comparison(found.table())

# %% [markdown]
# At a tenth and at half of the words the order is that of the paper's table 2: a length of its own for each article
# helps, correlations help more. That is what one would expect: from a few words about a court the correlated model
# knows not only that there will be more about courts, but also that police and trials are likely and recipes are not.
#
# Two cautions. HGP uses 29 components, the others 49 each, so part of the distance to it is a matter of numbers; the
# gain over the scaled HGP is not. And one split with one seed is no proof; the
# [benchmarks](../benchmarks/paper_table.md) have larger truncations, other data, and more chains.
#
# ## What the components are
#
# A component is a weight for every word. Its share says how many of all counted words it accounts for; the label is
# made of words that are frequent in it *and* rarer elsewhere.

# %%
model = found.models["cnpf"]
listed = tables.components(model, n=7).head(15)
listed["top_columns"] = listed["top_columns"].str.join(" ")
print(listed.drop(columns="weight").to_string(index=False))

# %% [markdown]
# Some components are subjects (courts, elections, medicine), others are ways of writing: the largest one is how a life
# is told, the second how people talk of what they feel. Both are real patterns of counts. Whether a component hangs
# together can be measured: NPMI is the mean association of its top ten words over articles, here over those that the
# fit has not seen. 0 is what independent words have, 1 words that only ever come together.

# %%
from cormorant.data import hold_out

held_out = hold_out(counts, 1000, rng=1).held_out  # the same rows: the seed is that of compare
together = tables.coherence(model, held_out, n=10).sort_values("npmi", ascending=False)
print(together.head(5).to_string(index=False))
print(together.tail(5).to_string(index=False))

# %% [markdown]
# The best are as good as one could wish. The worst hold about a hundredth of the counts each, or half of that, and the
# top words of the last one meet hardly more often than by chance. Size alone does not tell: the best of all is as
# small. Shares and coherence belong beside every list of components; the tables below leave out the least used.
#
# ## Which go together, which avoid each other
#
# The paper reads this off the components' locations: the correlation is the cosine of the angle between two of them.
# The table looks at components that together hold nine tenths of the words. `low` and `high` are a 90% credible
# interval over the samples that were kept.

# %%
pairs = tables.correlated_pairs(model, n=8, n_columns=4)
for side in ("top_columns", "other_columns"):
    pairs[side] = pairs[side].str.join(" ")
print(pairs.drop(columns=["component", "other"]).to_string(index=False))

# %% [markdown]
# **Caution.** The interval is too narrow. It says how much the correlation moved within a short chain, not how well
# the chain has explored the posterior; after a default fit it has not mixed (`diagnostics_` says by how much). Nor does
# the interval of one chain tell that another can cut the same articles into other components: with the default eight
# chains it is theirs together, and wider. A pair to rely on is one that turns up again with another `random_state`.
#
# The paper's figure of these correlations is a graph. Circles are as large as a component's share, purple lines join
# what goes together, dashed orange ones what avoids each other.

# %%
figures.correlation_graph(model, among=30)

# %%
figures.correlation_heatmap(model, among=30)

# %% [markdown]
# The tightly connected groups with a few links between them, which the paper describes, are there: diplomacy, elections
# and organisations; crime and courts; bills, taxes and public money; companies, prices and jobs; films, music and art;
# food and trips. Sport, two components of these thirty (14 and 29), goes with how people talk (1). War (5), medicine
# (7) and five others have no line in the graph.
#
# ## How many components are there?
#
# The weights of the components by size, the paper's figure of the sticks. The paper found about 75 of 200 in use.

# %%
figures.sorted_weights(model)

# %% [markdown]
# Forty-nine of fifty are in use, the fewest that together hold 99% of the words, and the weights fall without a step
# that would say "here it ends". Do not take the number for a discovery. The truncation decides it (with 200 it is more
# than three times as large, see the [benchmarks](../benchmarks/paper_table.md)), and a sampler seldom empties a
# component that it began with. Were all in use, the fit would warn that the truncation may be too low.
#
# ## Does the model make such data?
#
# A model can be the best of three and still be wrong. `predictive_check` draws articles from the fitted model and
# compares them with the real ones.

# %%
check = predictive_check(model, counts.rows(slice(0, 2000)), n_replicates=20)
print(check.statistics.to_string(index=False, float_format="{:.4g}".format))

# %% [markdown]
# The tail is the share of replicates that lie above what is observed; near 0 or 1 the model does not make such data.
# The largest total of the rows is right, and their mean and spread are within a hundredth, since the model has a
# parameter for each row; that the mean of the rows and the spread of the columns are a little low shows in every
# replicate all the same. Pairs of top words meet about as often as in the replicates. Zeros and dispersion are not
# right: words come in bursts (an article that says "cell" once says it again), so that real counts have more zeros and
# more large values than a Poisson of the same mean. It is the usual price of Poisson factorisation and of topic models,
# and no reason to mistrust the correlations; but do not ask this model how often a rare word will be repeated.
#
# ## Further
#
# `cormorant explore` makes an interactive page of a saved fit, and the [paper's tables](../paper_tables.md) stand
# beside ours on a page of their own.
