"""What a fit found, for other programs: CSV, GraphML and GEXF (Gephi), AnnData and h5ad, ArviZ.

Writers appear whole or not at all, and replace an existing path only with ``overwrite=True``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cormorant.data import Matrix, as_counts, as_matrix
from cormorant.explore import tables
from cormorant.explore.files import new_hdf5, new_path
from cormorant.explore.fitted import has_features, named
from cormorant.explore.given_rows import given_rows
from cormorant.explore.graph import LEAST, correlation_graph
from cormorant.explore.row_weights import row_weights
from cormorant.explore.spreadsheets import write_table

if TYPE_CHECKING:
    from anndata import AnnData

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # characters that XML cannot hold

CSV_FILES = ("components.csv", "columns.csv", "rows.csv", "correlations.csv")


def write_csv(
    model: Any, folder: str | Path, X: Any = None, *, covariates: Any = None, overwrite: bool = False
) -> Path:
    """A folder of tables: components, their columns, the rows' weights, and the correlations where the model has them.

    Names that a spreadsheet program would take for formulas have a single quote in front (`explore.spreadsheets`).

    Args:
        model: A fitted estimator.
        folder: Where to put components.csv, columns.csv, rows.csv and correlations.csv.
        X: Rows for rows.csv; None takes those that the fit saw.
        covariates: Of the rows of X, if the model was fitted with covariates.
        overwrite: Whether to replace an existing folder.
    """
    weights, names = row_weights(model, X, covariates)
    with new_path(folder, overwrite, CSV_FILES) as made:
        write_table(flat_lists(tables.components(model)), made / "components.csv")
        write_table(tables.component_columns(model, n=25), made / "columns.csv")
        write_table(_weights_table(weights, names), made / "rows.csv")
        if model.locations_.shape[1]:
            write_table(tables.correlations(model), made / "correlations.csv")
    return Path(folder)


def flat_lists(table: pd.DataFrame) -> pd.DataFrame:
    """Lists of columns as text with semicolons between, which names seldom contain."""
    lists = [name for name in table.columns if name.endswith("columns")]
    return table.assign(**{name: table[name].str.join("; ") for name in lists})


def write_graphml(
    model: Any, path: str | Path, *, among: int | None = None, least: float = LEAST, overwrite: bool = False
) -> Path:
    """The correlation graph (`graph.correlation_graph`) as GraphML, for Gephi, Cytoscape, igraph."""
    return _write_graph("graphml", model, path, among, least, overwrite)


def write_gexf(
    model: Any, path: str | Path, *, among: int | None = None, least: float = LEAST, overwrite: bool = False
) -> Path:
    """The correlation graph (`graph.correlation_graph`) as GEXF, Gephi's own format."""
    return _write_graph("gexf", model, path, among, least, overwrite)


def to_anndata(model: Any, X: Any = None, *, covariates: Any = None) -> AnnData:
    """Rows x columns with what the fit says of each, by the conventions of scanpy.

    obsm["X_cormorant"] is E x (rows x components), varm["cormorant"] is E a (columns x components), and
    uns["cormorant"] holds the model's name, w, the shares of the components, their labels, locations and correlations.

    Args:
        model: A fitted estimator.
        X: Counts, which become X; an AnnData gets a copy with all it has. None: the rows that the fit saw, of which
            only the weights are kept.
        covariates: Of the rows of X, if the model was fitted with covariates.
    """
    anndata = _require("anndata")
    weights, names = row_weights(model, X, covariates)
    if isinstance(X, anndata.AnnData):
        adata = X.copy()
    else:
        adata = anndata.AnnData(
            X=None if X is None else _entries(model, X),
            obs=pd.DataFrame(index=pd.Index(named(names, range(len(weights))))),
            var=pd.DataFrame(index=pd.Index(named(model.column_names_, range(model.components_.shape[1])))),
        )
    adata.obsm["X_cormorant"] = np.array(weights)
    adata.varm["cormorant"] = np.ascontiguousarray(model.components_.T)
    adata.uns["cormorant"] = _described(model)
    return adata


def _entries(model: Any, X: Any) -> Any:
    """Counts as a sparse matrix; real numbers, which features may have, as they are."""
    found = as_matrix(X) if has_features(model) else as_counts(X)
    return found.values.copy() if isinstance(found, Matrix) else found.tocsr(copy=True)


def write_h5ad(model: Any, path: str | Path, X: Any = None, *, covariates: Any = None, overwrite: bool = False) -> Path:
    """`to_anndata`, as a file."""
    adata = to_anndata(model, X, covariates=covariates)
    with new_hdf5(path, overwrite, adata.__sizeof__()) as made:
        adata.write_h5ad(made)
    return Path(path)


def to_arviz(
    model: Any,
    X: Any = None,
    *,
    covariates: Any = None,
    n_draws: int = 200,
    n_columns: int = 20,
    random_state: int = 0,
) -> Any:
    """ArviZ's InferenceData, of what the fit has.

    Where the inference samples: posterior has the samples of w, alpha, c and the correlations, with as many chains and
    draws, and for each a draw of the atoms ``a``. Elsewhere: draws of ``a`` from q(a); what variational schemes give as
    points (w, locations, correlations) is constant_data. A fit with covariates also has their ``effect`` on each
    component, as `covariate_effects_` reports it (the coefficients themselves turn with the locations). A thinned model
    has its samples of a, w, b, c and the correlations as they are, and x = w z with z drawn. Features have a, the
    background, w, mass, concentration, the correlations and their scales (sigma_l2, noise), and in place of x draws of
    ``z``, which features each row shows; a structured fit has draws of a and z from q. If X is given,
    also draws of the rows' weights ``x`` (gamma, with the mean and variance of their posterior), and the counts as
    observed_data.

    Args:
        model: A fitted estimator.
        X: Rows whose weights are wanted.
        covariates: Of the rows of X, if the model was fitted with covariates.
        n_draws: Draws from a variational posterior; they are independent and make one chain.
        n_columns: Only columns are held that are among so many largest of some component.
        random_state: Seed of the draws.
    """
    from cormorant.explore.inference_data import inference_data

    arviz, rng = _require("arviz"), np.random.default_rng(random_state)
    return inference_data(arviz, model, given_rows(model, X, covariates), n_draws, n_columns, rng)


def write_arviz(
    model: Any,
    path: str | Path,
    X: Any = None,
    *,
    covariates: Any = None,
    random_state: int = 0,
    overwrite: bool = False,
) -> Path:
    """`to_arviz`, as a netCDF file that ``arviz.from_netcdf`` reads."""
    data = to_arviz(model, X, covariates=covariates, random_state=random_state)
    with new_hdf5(path, overwrite, sum(group.nbytes for group in data.values())) as made:
        data.to_netcdf(str(made))
    return Path(path)


def _described(model: Any) -> dict[str, Any]:
    found = {
        "model": model.model.name,
        "labels": np.array(tables.components(model).sort_values("component")["label"].to_list()),
        "weights": np.array(model.weights_),
        "share": np.array(model.usage_),
    }
    if model.locations_.shape[1]:
        found |= {"locations": np.array(model.locations_), "correlation": np.array(model.correlation_)}
    return found


def _weights_table(weights: np.ndarray, names: np.ndarray | None) -> pd.DataFrame:
    table = pd.DataFrame(weights, columns=[f"component {k}" for k in range(weights.shape[1])])
    table.insert(0, "row", named(names, range(len(weights))))
    return table


def _write_graph(kind: str, model: Any, path: str | Path, among: int | None, least: float, overwrite: bool) -> Path:
    import networkx

    writers = {"graphml": networkx.write_graphml, "gexf": networkx.write_gexf}
    with new_path(path, overwrite) as made:
        writers[kind](_printable_graph(model, among, least), made)
    return Path(path)


def _printable_graph(model: Any, among: int | None, least: float) -> Any:
    """The graph with text that XML can hold: names come from data, which may hold anything."""
    graph = correlation_graph(model, among=among, least=least)
    for _, attributes in graph.nodes(data=True):
        attributes.update({k: NOT_XML.sub("", v) for k, v in attributes.items() if isinstance(v, str)})
    return graph


def _require(package: str) -> Any:
    """An optional package, or an error that says how to get it."""
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError:
        raise ImportError(
            f"this export needs {package}, which is not installed: pip install 'cormorant[{package}]'."
        ) from None
