"""What a model cannot be made of, or called with, is an error that names the argument and the way out."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("numpyro", reason="needs the extra numpyro")

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from numpyro import handlers
from numpyro.infer.util import log_density

from cormorant.measures import (
    CallableAtoms,
    CallableLocations,
    CallableMean,
    Constant,
    CorrelatedRandomMeasure,
    GammaExp,
    GammaProcess,
    GaussianAtoms,
    GaussianLocations,
    GaussianProcess,
    GroupMeans,
    Identity,
    Linear,
    WeightProcess,
    cnpf_model,
    gamma_bernoulli,
    to_numpyro,
)
from cormorant.measures.numpyro_bridge import Bernoulli, Categorical, Gaussian
from cormorant.measures.traced import NotTraceable

from .helpers import ATOMS, GIVEN, Lomax, prior

MEASURE = CorrelatedRandomMeasure(
    GammaProcess(3.0), ATOMS, GaussianLocations(2), GaussianProcess(Linear() + Constant(0.5)), Identity()
)
COUNTS = np.ones((5, 4), int)


class OtherWeights(WeightProcess):
    upper, index, mean = np.inf, 0.0, 1.0

    def quadrature(self, reach=0.0):
        raise AssertionError

    def _sample_number(self, rng, number):
        raise AssertionError

    def _sample_tail_mass(self, rng, tail_mass):
        raise AssertionError


class OtherFunction(GaussianProcess):
    def sample_precision(self, rng, number):
        return rng.random(number)


def bernoulli():
    return gamma_bernoulli(GammaProcess(3.0), ATOMS, GaussianLocations(2))


MAKING = {
    "measure: expected a CorrelatedRandomMeasure": lambda: to_numpyro(GammaProcess(1.0)),
    "truncation: expected a whole number of at least 1": lambda: to_numpyro(MEASURE, truncation=0),
    "likelihood: expected one of 'poisson'.*got 'normal'": lambda: to_numpyro(MEASURE, "normal"),
    "likelihood: expected one of .*got <class": lambda: to_numpyro(MEASURE, Gaussian),
    "likelihood: Poisson.* needs atoms that are not negative": lambda: to_numpyro(
        replace(MEASURE, base=GaussianAtoms(np.zeros(4)))
    ),
    "truncation: expected at most 12 components with BernoulliLog": lambda: to_numpyro(bernoulli(), truncation=13),
    "measure: expected normalized=False with BernoulliLog": lambda: to_numpyro(bernoulli().normalize(), truncation=3),
    "measure: CallableAtoms .base. can be drawn from but has no density.* atoms=": lambda: to_numpyro(
        replace(MEASURE, base=CallableAtoms(lambda rng, n: rng.random((n, 4))))
    ),
    "measure: CallableLocations .locations. .* locations=": lambda: to_numpyro(
        replace(MEASURE, locations=CallableLocations(lambda rng, n: rng.random((n, 2)), 2))
    ),
    "measure: expected weights of a LevyProcess or a StickProcess, got OtherWeights.* weights=": lambda: to_numpyro(
        replace(MEASURE, process=OtherWeights())
    ),
    "measure: expected a process of finite mass": lambda: to_numpyro(replace(MEASURE, process=GammaProcess(np.inf))),
    "measure: expected a function that is a GaussianProcess.*got OtherFunction": lambda: to_numpyro(
        replace(MEASURE, function=OtherFunction(Linear()))
    ),
    "weights: expected a function": lambda: to_numpyro(MEASURE, weights=3.0),
    "atoms: expected a NumPyro distribution or a function": lambda: to_numpyro(MEASURE, atoms=np.ones(4)),
    "locations: expected a distribution of one vector.*to_event": lambda: to_numpyro(
        MEASURE, locations=dist.Normal(jnp.zeros(2), 1.0)
    ),
    "link: expected 'poisson' or 'logit'": lambda: Bernoulli("probit"),
    "link: expected 'exp' or 'softplus'": lambda: cnpf_model(
        4, 3, 2, a0=1.0, b0=1.0, sigma_l2=1.0, sigma_m2=1.0, link="log"
    ),
    "scale: expected a positive number": lambda: Gaussian(-1.0),
    "total: expected a whole number of at least 1": lambda: Categorical(0),
}


@pytest.mark.parametrize("message", MAKING)
def test_making_a_model(message):
    with pytest.raises((TypeError, ValueError), match=message):
        MAKING[message]()


def call(*data, measure=MEASURE, likelihood="poisson", given=None, **named):
    prior(lambda: to_numpyro(measure, likelihood, 3, **{**GIVEN, **(given or {})})(*data, **named))


CALLING = {
    "counts, rows: expected exactly one of them": lambda: call(),
    "counts, rows: expected exactly one": lambda: call(COUNTS, rows=5),
    "counts: expected rows x columns": lambda: call(COUNTS[0]),
    "counts: expected 4 columns": lambda: prior(lambda: to_numpyro(MEASURE)(COUNTS[:, :3])),
    "mask: expected the shape of counts, .5, 4.": lambda: call(COUNTS, COUNTS[0] > 0),
    "counts: expected numbers where mask is true, got NaN": lambda: call(np.full((5, 4), np.nan)),
    "counts: expected 7 rows, one for each mean": lambda: call(
        COUNTS, measure=replace(MEASURE, function=GaussianProcess(Linear(), GroupMeans(np.zeros(7))))
    ),
    "weights: expected the function to return 3 numbers": lambda: call(
        COUNTS, given={"weights": lambda n: jnp.ones(2)}
    ),
    "atoms: expected 3 rows": lambda: call(COUNTS, given={"atoms": lambda n: jnp.ones((2, 4))}),
    "likelihood: expected the function to return a NumPyro distribution": lambda: call(COUNTS, likelihood=jnp.log),
    "likelihood: expected a distribution of entries or of rows of the mean's shape": lambda: call(
        COUNTS, likelihood=lambda mean: dist.Poisson(mean[0])
    ),
    "mask: expected a likelihood of single entries": lambda: call(
        COUNTS, COUNTS > 0, likelihood=lambda mean: dist.Normal(mean, 1.0).to_event(1)
    ),
}


@pytest.mark.parametrize("message", CALLING)
def test_calling_a_model(message):
    with pytest.raises((TypeError, ValueError), match=message):
        CALLING[message]()


class Roundabout(Lomax):
    def log_density(self, x, w, F):
        return np.array([float(v) for v in np.ravel(x)])


def test_formulas_that_jax_cannot_trace():
    model = to_numpyro(replace(MEASURE, transform=Roundabout()), truncation=3, **GIVEN)
    point = {"x": np.ones((5, 3)), "d": np.ones((5, 2)), "mu_unit": np.ones(5)}
    with pytest.raises(NotTraceable, match=r"transform: expected formulas .*Roundabout\.log_density.*plain number"):
        jax.jit(lambda p: log_density(model, (COUNTS,), {}, p)[0])(point)
    mean = CallableMean(lambda points: [float(p[0]) for p in points])
    with pytest.raises(NotTraceable, match="mean_function: expected formulas"):
        call(COUNTS, measure=replace(MEASURE, function=GaussianProcess(Linear(), mean)))


def test_formulas_that_return_the_wrong_shape():
    mean = CallableMean(lambda points: points[:2, 0])
    with pytest.raises(ValueError, match="function: expected it to return 3 numbers, one a row"):
        call(COUNTS, measure=replace(MEASURE, function=GaussianProcess(Linear(), mean)))


def test_a_likelihood_that_jax_cannot_trace():
    with pytest.raises(NotTraceable, match="likelihood: expected a function that JAX can trace"):
        call(COUNTS, likelihood=lambda mean: dist.Poisson(np.asarray(mean)))


def test_rows_of_ones_own():
    """Distributions for atoms and locations that only a function drew before."""
    measure = replace(
        MEASURE,
        base=CallableAtoms(lambda rng, n: rng.random((n, 4))),
        locations=CallableLocations(lambda rng, n: 1 + rng.random((n, 2)), 2),
    )
    rows = {
        "atoms": dist.Uniform(0, 1).expand([4]).to_event(1),
        "locations": dist.Uniform(1, 2).expand([2]).to_event(1),
    }
    drawn = prior(to_numpyro(measure, "categorical", 3, **rows), rows=2)
    assert drawn["a"].shape == (3, 4)
    assert ((drawn["a"] > 0) & (drawn["a"] < 1)).all()
    assert drawn["l"].shape == (3, 2)
    assert ((drawn["l"] > 1) & (drawn["l"] < 2)).all()


def with_entry(value):
    counts = COUNTS.astype(float)
    counts[2, 3] = value
    return counts


@pytest.mark.parametrize(
    ("likelihood", "value", "said"),
    [
        (
            "poisson",
            -1.0,
            r"whole numbers of at least zero under Poisson\(\), got -1 at row 2, column 3; take likelihood",
        ),
        ("poisson", 0.5, "whole numbers of at least zero .*got 0.5"),
        ("poisson", np.inf, "whole numbers of at least zero .*got inf"),
        ("categorical", -1.0, "whole numbers of at least zero .*got -1"),
        ("bernoulli", 2.0, "zeros and ones under Bernoulli.* got 2 at row 2, column 3; take likelihood='poisson'"),
        ("gaussian", np.inf, "finite numbers under Gaussian.*got inf"),
    ],
)
@pytest.mark.parametrize("array", [np.asarray, jnp.asarray, np.ndarray.tolist])
def test_data_that_a_likelihood_cannot_draw(likelihood, value, said, array):
    """They would have log density -inf, and nothing would say why; where the mask hides them, they may be anything."""
    with pytest.raises(ValueError, match=f"counts: expected {said}"):
        call(array(with_entry(value)), likelihood=likelihood)
    call(array(with_entry(value)), with_entry(0.0) > 0, likelihood=likelihood)


def test_traced_data_are_not_looked_at():
    model = to_numpyro(MEASURE, truncation=3, **GIVEN)
    drawn = handlers.trace(handlers.seed(model, 0))
    found = jax.jit(lambda counts: drawn.get_trace(counts)["counts"]["value"])(with_entry(0.5))
    np.testing.assert_array_equal(found, with_entry(0.5))


@pytest.mark.parametrize("kind", [bool, int, np.uint8, np.float32])
def test_numbers_of_every_kind(kind):
    for likelihood in ("poisson", "bernoulli", "gaussian", "categorical"):
        call(COUNTS.astype(kind), likelihood=likelihood)


def test_sparse_counts():
    model = to_numpyro(MEASURE, truncation=3, **GIVEN)
    np.testing.assert_array_equal(prior(lambda: model(sparse.csr_matrix(COUNTS)))["counts"], COUNTS)


def test_without_the_extra_the_error_names_it():
    """In a process of its own, where numpyro cannot be imported; the measures themselves need it not."""
    code = (
        "import sys; sys.modules['numpyro'] = sys.modules['jax'] = None\n"
        "from cormorant.measures import GammaAtoms, GammaProcess, hgp, to_numpyro\n"
        "model = to_numpyro(hgp(GammaProcess(1.0), GammaAtoms(2)))\n"
        "try: model(rows=3)\n"
        "except ModuleNotFoundError as error: assert \"pip install 'cormorant[numpyro]'\" in str(error), error\n"
        "else: raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_measures_does_not_import_jax():
    code = "import sys; import cormorant.measures; assert not {'jax', 'numpyro'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_transformation_may_override_a_gamma():
    """A gamma by name, but with a density of its own: that density is what the model takes."""

    class Squeezed(GammaExp):
        def log_density(self, x, w, F):
            return Lomax().log_density(x, w, F)

    model = to_numpyro(replace(MEASURE, transform=Squeezed()), truncation=3, **GIVEN)
    assert "x_gamma" not in prior(model, rows=2)
