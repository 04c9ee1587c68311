# %% [markdown]
# # Single cells: programs of genes, with AnnData and scanpy
#
# Single-cell counts are made for Poisson factorisation: molecules are counted, most entries are zero, cells differ in
# how many of their molecules were caught. A component is then a program, a set of genes that are expressed together,
# and a cell may run several at once, which clusters cannot say. What the correlations add is which programs share
# cells.
#
# The data are 3,774 blood cells of known type (10x Genomics, sorted by antibodies; Zheng and others 2017) x 16,791
# genes, as the R package [fastTopics](https://github.com/stephenslab/fastTopics) has them (`pbmc_facs`). The script
# takes a folder with `counts.npz`, `columns.txt` (gene, tab, Ensembl id) and `rows.txt` (barcode, tab, cell type,
# tab, subpopulation):
#
#     python examples/tutorials/single_cells.py pbmc_facs
#
# With a file of your own, `anndata.read_h5ad` takes the place of the first cell. It needs `pip install
# 'cormorant[anndata]' scanpy`.

# %%
import sys
import warnings
from pathlib import Path

import anndata
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scanpy as sc
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from cormorant import CNPF
from cormorant.estimators import TruncationWarning
from cormorant.explore import figures, tables
from cormorant.explore.export import to_anndata

pd.set_option("display.width", 120, "display.max_colwidth", 80, "display.precision", 2)
warnings.simplefilter("ignore", TruncationWarning)

folder = Path(sys.argv[1])
obs = pd.read_csv(folder / "rows.txt", sep="\t", header=None, names=["barcode", "type", "population"])
genes = pd.read_csv(folder / "columns.txt", sep="\t", header=None, names=["gene", "ensembl"])
adata = anndata.AnnData(
    sparse.load_npz(folder / "counts.npz").astype(np.float32),
    obs=obs.set_index("barcode"),
    var=genes.set_index("gene"),
)
adata.var_names_make_unique()
print(adata)

# %% [markdown]
# ## Raw counts, please
#
# The model is one of counts: no logarithms, no scaling, no normalisation to ten thousand a cell. How much of a cell
# was caught is a parameter of the model (`mu_u`), learned for each cell. Genes seen in few cells are dropped, and so
# are those of ribosomal proteins, which make up a good part of the counts and say little about the type of a cell.
# (Leaving them in is also defensible: then some components are about them.)

# %%
sc.pp.filter_genes(adata, min_cells=100)
ribosomal = adata.var_names.str.match("^RP[LS]")
adata = adata[:, ~ribosomal].copy()
print(f"{adata.n_obs:,} cells x {adata.n_vars:,} genes, {adata.X.sum() / adata.n_obs:,.0f} molecules a cell")

# %%
model = CNPF(n_components=15, n_chains=1, n_sweeps=60, random_state=1).fit(adata)
print(model.stop_reason_)

# %% [markdown]
# ## The programs
#
# FREX picks genes that are frequent in a component and rare elsewhere; by size the first places would go to genes
# that every cell expresses.

# %%
listed = tables.components(model, n=8, by="frex")
for line in listed.itertuples():
    print(f"{line.component:3d} {line.share:6.1%}  {' '.join(line.top_columns)}")

# %% [markdown]
# Read such a list with the genes that one knows. CD79A, CD79B and MS4A1 mark B cells; GNLY, GZMB and NKG7 natural
# killer cells; S100A8, LYZ and CST3 monocytes; CD3D and CD3E T cells, CD8B some of them; SPINK2, PRSS57 and CYTL1 stem
# cells and what becomes of them. Others are programs that types share, such as JUN, ZFP36 and DUSP1, which cells switch
# on when they are handled, in life or on the way into the machine, or HLA-DPA1 and HLA-DRA, with which cells present
# antigens. One of the small ones is of genes of the mitochondria (MT-); the last two are not easy to name.
#
# ## Where scanpy expects things
#
# `to_anndata` puts the weights of the cells into `obsm`, the genes of the programs into `varm`, and all about the
# components into `uns`, so that scanpy goes on from there: neighbours, UMAP, clusters, all on the weights in place of
# principal components.

# %%
adata = to_anndata(model, adata)
weights = adata.obsm["X_cormorant"] * model.components_.sum(axis=1)  # in molecules, comparable between components
adata.obsm["X_shares"] = np.sqrt(weights / weights.sum(axis=1, keepdims=True))
print(adata.obsm["X_cormorant"].shape, adata.varm["cormorant"].shape, list(adata.uns["cormorant"]))

# %% [markdown]
# We take the share that each program has of a cell, and its square root: the distance between two cells is then that
# of Hellinger, which neither the depth of a cell nor one large program decides.

# %%
sc.pp.neighbors(adata, use_rep="X_shares", n_neighbors=15, random_state=0)
sc.tl.umap(adata, random_state=0)
fig, ax = plt.subplots(figsize=(6.2, 4.6), layout="constrained")
sc.pl.umap(adata, color="population", ax=ax, show=False, title="cells by the weights of their programs", size=12)

# %% [markdown]
# Pictures flatter. A number: how well do ten clusters agree with the ten sorted types, and six clusters with the five
# populations, beside the usual way (logarithms of normalised counts, thirty principal components)? 1 is perfect, 0 is
# chance.

# %%
usual = adata.copy()
sc.pp.normalize_total(usual, target_sum=1e4)
sc.pp.log1p(usual)
sc.pp.pca(usual, n_comps=30, random_state=0)
scores = {}
for name, space in {"programs": adata.obsm["X_shares"], "principal components": usual.obsm["X_pca"]}.items():
    clusters = {k: KMeans(k, n_init=10, random_state=0).fit_predict(space) for k in (6, 10)}
    scores[name] = {
        "types, 10 clusters": adjusted_rand_score(adata.obs["type"], clusters[10]),
        "populations, 6 clusters": adjusted_rand_score(adata.obs["population"], clusters[6]),
    }
print(pd.DataFrame(scores).T.to_string())

# %% [markdown]
# The principal components are ahead on the five populations, and a little behind on the ten types, six of which are T
# cells of different kinds, hard to tell by RNA. Neither side was tuned, and k-means has its own preferences; but
# going from thirty numbers without a meaning to fifteen that have one was not free on the populations.
#
# ## Which program is in which cells

# %%
share = pd.DataFrame(weights / weights.sum(axis=1, keepdims=True), index=adata.obs["type"])
means = share.groupby(level=0, observed=True).mean()
order = listed["component"].to_numpy()
fig, ax = plt.subplots(figsize=(7.0, 3.6), layout="constrained")
image = ax.imshow(means[order], aspect="auto", cmap="Blues", vmin=0)
ax.set_yticks(range(len(means)), means.index, fontsize=8)
ax.set_xticks(range(len(order)), order, fontsize=8)
ax.set_xlabel("component, the most used first")
fig.colorbar(image, label="mean share of a cell")

# %% [markdown]
# ## Which programs share cells

# %%
figures.correlation_heatmap(model, among=15)

# %% [markdown]
# T cells with what they share, and stem cells with what becomes of them, each stand together, and the program of B
# cells (2) beside that of presenting antigens (10). A sorted cell is of one kind, so the correlations mostly restate
# the types: a check, not a discovery. What is beyond types is between them: the program of JUN, DUSP1 and CCL5 (3) goes
# with that of natural killer cells (1) but is in cytotoxic and memory T cells too, as the figure before this one shows.
# Correlations become interesting where cells are mixed or on their way from one type to another, or where rows are
# pieces of tissue. One short chain (R-hat above 2) is enough for a picture, not for an interval.
