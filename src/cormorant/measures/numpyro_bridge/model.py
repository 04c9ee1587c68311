"""to_numpyro: a correlated random measure and a likelihood as a NumPyro model, for NUTS, SVI and whatever comes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cormorant.measures import _check
from cormorant.measures._jax import dist, jax, jnp, numpyro
from cormorant.measures.bases import GaussianAtoms
from cormorant.measures.correlated import CorrelatedRandomMeasure
from cormorant.measures.numpyro_bridge.functions import check_function, sample_function
from cormorant.measures.numpyro_bridge.inputs import Data, read_data
from cormorant.measures.numpyro_bridge.likelihoods import resolve_likelihood, row_law
from cormorant.measures.numpyro_bridge.sites import note, sample
from cormorant.measures.numpyro_bridge.transforms import TwoValued, is_two_valued, transformed
from cormorant.measures.numpyro_bridge.tuples import Rows, atom_sampler, location_sampler, row_sampler
from cormorant.measures.numpyro_bridge.weights import PlacedWeights, Sampler, place, weight_sampler

if TYPE_CHECKING:
    from jax import Array

MOST_ENUMERATED = 12  # components whose 2^K states are summed over


def to_numpyro(
    measure: CorrelatedRandomMeasure,
    likelihood: Any = "poisson",
    truncation: int = 20,
    *,
    weights: Callable[[int], Any] | None = None,
    atoms: Any = None,
    locations: Any = None,
) -> Callable[..., None]:
    """A NumPyro model of rows of data, y_u ~ likelihood(M_u a), M_u = sum_k x_uk delta_{a_k} sharing their tuples.

    The model is called with `counts` (rows x columns of values that the likelihood can draw) and perhaps `mask` (true
    where an entry was seen); or, to draw from the prior, with neither and `rows`, their number.

        w_1 > w_2 > ...      the `truncation` first weights: the same law as `measure.sample_groups(number=truncation)`
        a_k, l_k             atoms and locations
        F_u ~ GP(m, K)       at the locations; d_u and mu_u for the linear and the constant kernel
        x_uk ~ T(. | w_k, F_u(l_k))

    Sites: `w`, `a`, `l`, `F`, `x`, `mean` (the M_u a) and `counts`. Where x is zero or one other value (Bernoulli,
    thinning) its 2^K states are summed over exactly, K <= 12; `x` and `mean` are then expectations over them given all
    else. Take double precision (`numpyro.enable_x64()`): weights are small.

    Args:
        measure: Any; its formulas may be NumPy's (see `cormorant.measures.traced`).
        likelihood: "poisson", "bernoulli", "gaussian", "categorical", an instance of their classes in
            `cormorant.measures.numpyro_bridge`, or a function of the mean that returns a NumPyro distribution.
        truncation: Number of weights, beside the measure's fixed components.
        weights: In place of the measure's process, a function of the number that samples them: hyper-priors.
        atoms: In place of the measure's base, a NumPyro distribution of one row, or a function of the number.
        locations: The same for the locations.
    """
    _check.instance("measure", measure, CorrelatedRandomMeasure)
    truncation = _check.count("truncation", truncation)
    check_function(measure.function)
    _check_states(measure, truncation)
    signed = atoms is None and isinstance(measure.base, GaussianAtoms)
    story = Story(
        measure,
        truncation,
        weight_sampler(measure.process, truncation) if weights is None else _given(measure, weights, truncation),
        atom_sampler(measure.base) if atoms is None else row_sampler("atoms", atoms),
        location_sampler(measure.locations) if locations is None else row_sampler("locations", locations),
        resolve_likelihood(likelihood, signed_atoms=signed),
    )
    columns = getattr(measure.base, "dimension", None) if atoms is None else None

    def model(counts: Any = None, mask: Any = None, *, rows: int | None = None) -> None:
        groups, law = measure.function.groups, story.likelihood
        story.tell(read_data(counts, mask, rows, groups=groups, columns=columns, likelihood=law))

    return model


def _check_states(measure: CorrelatedRandomMeasure, truncation: int) -> None:
    """Few enough states to sum over, none of them an empty measure to be normalised."""
    if not is_two_valued(measure.transform):
        return
    name = type(measure.transform).__name__
    number = truncation + (0 if measure.fixed is None else len(measure.fixed))
    if number > MOST_ENUMERATED:
        raise ValueError(
            f"truncation: expected at most {MOST_ENUMERATED} components with {name}, whose 2^K states are summed "
            f"over, got {number}"
        )
    if measure.normalized:
        raise ValueError(f"measure: expected normalized=False with {name}, under which the total may be zero, got True")


def _given(measure: CorrelatedRandomMeasure, weights: Callable[[int], Any], number: int) -> Sampler:
    """Weights that a user's function samples."""
    _check.function("weights", weights)

    def sample_given() -> PlacedWeights:
        w = jnp.asarray(weights(number))
        if w.shape != (number,):
            raise ValueError(f"weights: expected the function to return {number} numbers, got shape {w.shape}")
        return place(w, measure.process.upper)

    return sample_given


@dataclass(frozen=True)
class Story:
    """The generative story of one measure and likelihood."""

    measure: CorrelatedRandomMeasure
    truncation: int
    weights: Sampler
    atoms: Rows
    locations: Rows
    likelihood: Any

    def tell(self, data: Data) -> None:
        """Tuples, then rows, then data."""
        measure = self.measure
        w, a, locations = self._tuples()
        F = sample_function(measure.function, locations, data.rows)
        x = transformed(measure.transform, w, F, normalized=measure.normalized)
        if isinstance(x, TwoValued) and data.counts is not None:
            self._observe_states(x, a, data, data.counts)
            return
        if isinstance(x, TwoValued):
            x = note("x", x.top * sample("z", dist.Bernoulli(logits=x.eta)))
        law = row_law(self.likelihood, note("mean", x @ a), data.counts, data.mask)
        numpyro.sample("counts", law.to_event(), obs=data.counts)

    def _tuples(self) -> tuple[PlacedWeights, Array, Array]:
        """(w_k, a_k, l_k), the fixed ones first."""
        w, a, locations = self.weights(), self._rows("atoms"), self._rows("locations")
        fixed = self.measure.fixed
        if fixed is not None:
            known = place(jnp.asarray(fixed.weights), self.measure.process.upper)
            w = PlacedWeights(*(jnp.concatenate(pair) for pair in zip(known, w, strict=True)))
            a, locations = jnp.vstack([fixed.atoms, a]), jnp.vstack([fixed.locations, locations])
        return w._replace(values=note("w", w.values)), a, locations

    def _rows(self, part: str) -> Array:
        rows = jnp.asarray(getattr(self, part)(self.truncation))
        if rows.ndim != 2 or len(rows) != self.truncation:
            raise ValueError(f"{part}: expected {self.truncation} rows, got shape {rows.shape}")
        return rows

    def _observe_states(self, x: TwoValued, a: Array, data: Data, counts: Array) -> None:
        """log sum_z p(z | eta_u) p(y_u | mean(z)) over all z in {0, 1}^K, one factor for all rows."""
        z = jnp.asarray(list(itertools.product((0.0, 1.0), repeat=len(x.top))))
        means = (z * x.top) @ a  # states x columns: rows share them
        shape = (data.rows, *means.shape)
        every, mask = counts[:, None, :], None if data.mask is None else data.mask[:, None, :]
        law = row_law(self.likelihood, jnp.broadcast_to(means, shape), every, mask)
        log_joint = law.log_prob(jnp.broadcast_to(every, shape))
        log_joint = log_joint + x.eta @ z.T - jax.nn.softplus(x.eta).sum(axis=-1, keepdims=True)
        numpyro.factor("counts", jax.scipy.special.logsumexp(log_joint, axis=-1).sum())
        posterior = jax.nn.softmax(log_joint, axis=-1)
        note("x", posterior @ (z * x.top))
        note("mean", posterior @ means)
