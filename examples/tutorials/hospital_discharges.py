# %% [markdown]
# # Hospital discharges: which diagnoses meet in a patient
#
# The paper's second study factorises 142,297 patients of the Mayo Clinic x 11,102 ICD-9 codes, which are not public.
# The closest public data are the US National Hospital Discharge Survey of 2010: 151,551 discharges x 8,083 codes.
#
# ## Getting the data
#
# The survey is in the public domain ([CDC/NCHS](https://www.cdc.gov/nchs/nhds)); its terms allow statistical use only
# and forbid attempts to identify people. The R package [nhds](https://github.com/jackwasey/nhds) carries it as a
# table:
#
# ```r
# library(nhds)                                   # remotes::install_github("jackwasey/nhds")
# codes <- grep("^dx[0-9]+$", names(nhds2010), value = TRUE)   # dx01 ... dx15
# long <- data.frame(discharge = rep(seq_len(nrow(nhds2010)), times = length(codes)),
#                    code = unlist(lapply(nhds2010[codes], as.character)))
# write.csv(unique(long[!is.na(long$code), ]), "discharges.csv", row.names = FALSE)
# ```
#
# which is counted by
#
#     cormorant prepare discharges.csv --row discharge --column code --out nhds/counts.npz
#
# (The lines of R were written from the package's description, and not run here.) If the folder also has
# `columns.txt`, a line a column with code, tab, description, the components are easier to read; the descriptions are
# CMS's ICD-9-CM long descriptions (version 32). This script takes the folder:
#
#     python examples/tutorials/hospital_discharges.py nhds

# %%
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from cormorant import compare, read
from cormorant.estimators import TruncationWarning
from cormorant.explore import figures, tables

pd.set_option("display.width", 120, "display.max_colwidth", 110, "display.precision", 2)
warnings.simplefilter("ignore", TruncationWarning)

folder = Path(sys.argv[1])
vocabulary = folder / "columns.txt"
everything = read(folder / "counts.npz", vocabulary=vocabulary if vocabulary.exists() else None)
everything = everything.named(column_names=[name.split("\t")[-1] for name in everything.column_names])
print(everything)

# %% [markdown]
# ## What is counted
#
# A discharge has up to fifteen codes, each once. A discharge with one or two codes says nothing about which codes go
# together, so we keep those with at least five, and codes that at least fifty discharges have. A sample of 12,000
# keeps this short.

# %%
shown_by = np.bincount(everything.indices, minlength=everything.n_columns)
counts = everything.columns(np.flatnonzero(shown_by >= 50))
enough = np.flatnonzero(counts.row_totals() >= 5)
rng = np.random.default_rng(1)
counts = counts.rows(np.sort(rng.choice(enough, 12_000, replace=False)))
print(f"{len(enough):,} discharges have enough codes; the sample has {counts.total / counts.n_rows:.1f} codes each")

# %% [markdown]
# The unit is a stay, not a person: the survey has no person id, and one person may be in it several times. At the
# Mayo Clinic a row was a patient over three years, so that a row there holds many more counts. Expect fainter
# correlations between chronic and passing conditions here, and expect childbirth, which is a stay of its own, to
# stand apart.
#
# ## With and without correlations

# %%
found = compare(
    counts, ["hgp", "scaled-hgp", "cnpf"], n_held_out=1000, observed=(0.1, 0.5), seed=1, n_components=30, n_chains=1
)
print(found.table().drop(columns="seconds").round(1).to_string())

# %% [markdown]
# A scale for each discharge helps, and correlations help again, whether a tenth or half of the codes are shown: the
# paper's order. With nine codes a tenth is often none at all; such a discharge is predicted from the prior, which can
# do little more than name frequent codes, so the gain at a tenth is made on the others.
#
# ## The components

# %%
model = found.models["cnpf"]


def wrapped(before, names):
    """Long descriptions, over as many lines as they need."""
    return textwrap.fill("; ".join(names), 100, initial_indent=before, subsequent_indent=" " * len(before))


for line in tables.components(model, n=4).head(20).itertuples():
    print(wrapped(f"{line.component:3d} {line.share:6.1%}  ", line.top_columns))

# %% [markdown]
# Much of it is medicine as one knows it: heart failure with atrial fibrillation, high blood pressure with failing
# kidneys, dementia with urinary infections, cancers that have spread, childbirth, alcohol and suicidal thoughts. The
# largest component holds nearly a tenth of all codes: hypertension, high lipids, diabetes, coronary disease, which come
# along with whatever brought somebody to the hospital. The paper's second component is of that kind too.
#
# ## Which go together

# %%
pairs = tables.correlated_pairs(model, n=8, n_columns=3)
for line in pairs.itertuples():
    print(wrapped(f"{line.correlation:+.2f}  ", line.top_columns))
    print(wrapped("       ", line.other_columns))

# %%
figures.correlation_heatmap(model, among=20)

# %% [markdown]
# Most positive pairs are plausible: heart failure with kidney disease, sepsis with failing kidneys and lungs, lipids
# and diabetes with old infarctions, suicidal thoughts with chronic pain. So are the negative ones, but look for the
# reason behind them. Suicidal thoughts do not protect the heart: in this survey the median age of discharges with them
# is 38 years, that of discharges with heart failure 76. Reflux (64) and tobacco (51) "avoid" kidney failure (73) in the
# same way. **Age is not in the model**, nor is the reason for the stay, so a correlation between components can be
# nothing more than a common cause. The survey has age and sex, and a model can be
# [told of them](../models/covariates.md): the least one should do before believing such a pair.
#
# Nor need components that go together meet. The fourth pair is of two with coronary disease at the top, of native
# arteries in the one and of vessels that nobody specified in the other. Who writes the code takes one of the two:
# 21,936 discharges in the survey have either, 61 have both. Probably the components are close because the same
# conditions come with both codes. Correlations between such near-twins say how one pattern was cut, not how two
# conditions meet.
#
# ## What a code list suggests next
#
# Shown some codes of a new discharge, the model says which others are likely. That can find codes that were
# forgotten; it is not a diagnosis, and says what is *coded* together in 2010, in the US, for billing.

# %%
names = list(counts.column_names)
seen = ["Atrial fibrillation", "Congestive heart failure, unspecified", "Long-term (current) use of anticoagulants"]
new = np.zeros((1, counts.n_columns), dtype=int)
new[0, [names.index(name) for name in seen]] = 1
suggested = tables.next_columns(model, 0, new, n=8)
print(suggested.to_string(index=False))

# %%
figures.sorted_weights(model)

# %% [markdown]
# Twenty-nine of thirty are in use: the truncation decides. The paper found about fifty of 200 with the first twenty
# used more heavily. [The paper's tables](../paper_tables.md) stand beside those of a fit to all discharges with five
# codes or more.
