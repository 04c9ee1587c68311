"""Likelihoods of a row's data given its mean M a = sum_k x_uk a_k, each a NumPyro distribution of the row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cormorant.measures import _check
from cormorant.measures._jax import dist, jax, jnp
from cormorant.measures.numpyro_bridge.sites import sample
from cormorant.measures.traced import NotTraceable

if TYPE_CHECKING:
    from jax import Array


class Support(NamedTuple):
    """The values that a likelihood can have drawn."""

    holds: Callable[[np.ndarray], np.ndarray]
    expected: str
    advice: str  # where others came


WHOLE = Support(
    lambda y: (y >= 0) & (y == np.floor(y)) & np.isfinite(y),
    "whole numbers of at least zero",
    "take likelihood='gaussian' for real numbers, or round",
)
BINARY = Support(
    lambda y: (y == 0) | (y == 1), "zeros and ones", "take likelihood='poisson' for counts, or give counts > 0"
)
REAL = Support(np.isfinite, "finite numbers", "mask it, if it is missing")


@dataclass(frozen=True)
class Poisson:
    """y_ui ~ Poisson(sum_k x_uk a_ki)."""

    needs_nonnegative = True
    support = WHOLE

    def __call__(self, mean: Array, counts: Array | None) -> Any:
        """Poisson(mean)."""
        return dist.Poisson(_positive(mean))


@dataclass(frozen=True)
class Bernoulli:
    """y_ui ~ Bernoulli(1 - exp(-m_ui)), whether a Poisson count is positive, or with `link="logit"` sigmoid(m_ui).

    m_ui = sum_k x_uk a_ki. The logit link is for atoms of either sign.
    """

    link: str = "poisson"

    support = BINARY

    def __post_init__(self) -> None:
        if self.link not in ("poisson", "logit"):
            raise ValueError(f"link: expected 'poisson' or 'logit', got {self.link!r}")

    @property
    def needs_nonnegative(self) -> bool:
        """Whether the mean must not be negative."""
        return self.link == "poisson"

    def __call__(self, mean: Array, counts: Array | None) -> Any:
        """Log odds log(exp(m) - 1), or m."""
        if self.link == "logit":
            return dist.Bernoulli(logits=mean)
        m = _positive(mean)
        return dist.Bernoulli(logits=m + jnp.log(-jnp.expm1(-m)))


@dataclass(frozen=True)
class Gaussian:
    """y_ui ~ N(sum_k x_uk a_ki, scale^2); a NumPyro distribution for `scale` is its prior, site `scale`."""

    scale: Any = 1.0

    needs_nonnegative = False
    support = REAL

    def __post_init__(self) -> None:
        if not callable(getattr(self.scale, "log_prob", None)):
            _check.fields(self, scale=_check.positive)

    def __call__(self, mean: Array, counts: Array | None) -> Any:
        """Normal(mean, scale)."""
        learned = not isinstance(self.scale, float)
        return dist.Normal(mean, sample("scale", self.scale) if learned else self.scale)


@dataclass(frozen=True)
class Categorical:
    """Each of a row's N_u tokens falls on column i with probability proportional to sum_k x_uk a_ki.

    Rows of counts are observed as one multinomial; those of a row that has no component fall anywhere alike. `total` is
    N_u where counts are drawn, not given.
    """

    total: int = 1

    needs_nonnegative = True
    support = WHOLE

    def __post_init__(self) -> None:
        _check.fields(self, total=_check.count)

    def __call__(self, mean: Array, counts: Array | None) -> Any:
        """Multinomial(N_u, mean / sum_i mean_i)."""
        log_mean = jnp.log(_positive(mean))  # the slope of a quotient of tiny numbers would not be a number
        total = self.total if counts is None else counts.sum(axis=-1).astype(int)
        shape = jnp.broadcast_shapes(jnp.shape(total), mean.shape[:-1])
        logits = jnp.broadcast_to(log_mean, (*shape, mean.shape[-1]))
        most = self.total if counts is None else None  # sampling needs a number, and observing none
        return dist.Multinomial(jnp.broadcast_to(total, shape), logits=logits, total_count_max=most)


@dataclass(frozen=True)
class Given:
    """A user's likelihood: a function of the mean (rows x columns) that returns a NumPyro distribution."""

    function: Callable[[Any], Any]

    needs_nonnegative = False

    def __call__(self, mean: Array, counts: Array | None) -> Any:
        """function(mean), checked."""
        try:
            law = self.function(mean)
        except jax.errors.JAXTypeError as error:
            raise NotTraceable(
                "likelihood: expected a function that JAX can trace, written with jax.numpy, but it needs the values "
                f"of its mean: {str(error).splitlines()[0]}"
            ) from error
        if not isinstance(law, dist.Distribution):
            raise TypeError(f"likelihood: expected the function to return a NumPyro distribution, got {law!r}")
        if len(law.event_shape) > 1 or law.shape() != mean.shape:
            raise ValueError(
                f"likelihood: expected a distribution of entries or of rows of the mean's shape {mean.shape}, got "
                f"batch_shape {law.batch_shape} and event_shape {law.event_shape}"
            )
        return law


LIKELIHOODS: dict[str, Any] = {
    "poisson": Poisson,
    "bernoulli": Bernoulli,
    "gaussian": Gaussian,
    "categorical": Categorical,
}


def resolve_likelihood(likelihood: Any, *, signed_atoms: bool) -> Any:
    """The likelihood of that name, itself, or a user's function wrapped; and whether the atoms suit it."""
    found: Any
    if isinstance(likelihood, str) and likelihood in LIKELIHOODS:
        found = LIKELIHOODS[likelihood]()
        if signed_atoms and likelihood == "bernoulli":
            found = Bernoulli(link="logit")
    elif isinstance(likelihood, tuple(LIKELIHOODS.values())):
        found = likelihood
    elif callable(likelihood) and not isinstance(likelihood, type):
        found = Given(likelihood)
    else:
        names = ", ".join(map(repr, LIKELIHOODS))
        raise ValueError(
            f"likelihood: expected one of {names}, one of their classes' instances, or a function of the mean that "
            f"returns a NumPyro distribution, got {likelihood!r}"
        )
    if signed_atoms and found.needs_nonnegative:
        raise ValueError(f"likelihood: {found!r} needs atoms that are not negative, got GaussianAtoms")
    return found


def row_law(likelihood: Any, mean: Array, counts: Array | None, mask: Array | None) -> Any:
    """The distribution of rows, entries outside the mask left out."""
    if mask is not None and isinstance(likelihood, Categorical):
        # Tokens that fell on unseen columns are unseen as well: the rest is a multinomial over the others.
        mean = jnp.where(mask, mean, 0.0)
    law = likelihood(mean, counts)
    if law.event_shape:
        if mask is not None and not isinstance(likelihood, Categorical):
            raise ValueError("mask: expected a likelihood of single entries, got a distribution of whole rows")
        return law
    if mask is not None:
        law = law.mask(mask)
    return law.to_event(1)


def _positive(mean: Array) -> Array:
    """Kept from zero, where every component of a row has vanished."""
    return jnp.maximum(mean, jnp.finfo(mean.dtype).tiny)
