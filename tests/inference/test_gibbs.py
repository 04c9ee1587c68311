"""The sampler leaves the posterior as it is: Geweke's joint distribution test, and exact answers on tiny data."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.special import logsumexp, softmax

from cormorant.backends.cpu import CpuBackend
from cormorant.backends.scanning import CountTable
from cormorant.inference import draws, regression
from cormorant.inference.batch import Batch
from cormorant.inference.diagnostics import effective_sample_size
from cormorant.inference.gibbs import Gibbs
from cormorant.inference.globals import BASE_PRIOR, weights_of
from cormorant.inference.moves import Chain, RowDraws
from cormorant.inference.schedules import Plan
from cormorant.inference.sharing import ShareCounts
from cormorant.inference.state import Globals, State
from cormorant.inference.tops import TOPS
from cormorant.models.cnpf import MODELS, Hyperparameters, link_function
from cormorant.models.kernels import KERNELS, draw_frequencies, make_kernel

ROWS, COLUMNS, COMPONENTS = 4, 3, 2


class Joint:
    """Two ways to draw (parameters, data) of a tiny model: from the story, and by sweeps between draws of the data."""

    hyper = Hyperparameters(
        0.8, 1.0, 0.3, 0.6, a_alpha=6.0, b_alpha=3.0, a_c=6.0, b_c=4.0, a_beta=6.0, b_beta=2.0, discount=0.4,
        sigma_g2=0.5, df=8.0,
    )  # fmt: skip
    theta = np.array([[1.0, 0.5], [-1.0, 0.5], [0.3, -1.0], [0.0, 1.0]])

    def __init__(self, model, seed, one_by_one=True, **options):
        self.model, self.rng = replace(MODELS[model], **options), np.random.default_rng(seed)
        self.n_dims = 1 if self.model.has_locations else 0
        if (
            self.model.heavy_tails
        ):  # the tails of exp F make a chain that stays where it is for long: narrower elsewhere
            self.hyper = replace(self.hyper, sigma_g2=0.2)
        self.scheme = Gibbs(self.model, CpuBackend(), has_missing=self.missing is not None, one_by_one=one_by_one)

    def prior(self):
        """Globals, atoms and f, by the generative story."""
        rng, h = self.rng, self.hyper
        alpha, c = rng.gamma(h.a_alpha) / h.b_alpha, rng.gamma(h.a_c) / h.b_c
        discount = h.discount if self.model.top == "pitman-yor" else 0.0
        places = np.arange(1, COMPONENTS)
        sticks = np.append(rng.beta(1.0 - discount, alpha + discount * places), 1.0)
        weights = np.maximum(weights_of(rng.gamma(alpha) / c, sticks), 1e-10)
        beta = 1.0
        if self.model.top in ("dirichlet", "beta"):
            beta = rng.gamma(h.a_beta) / h.b_beta
            weights = beta * weights / weights.sum()
        if self.model.top == "beta":
            weights = beta * np.clip(rng.beta(alpha / COMPONENTS, alpha, COMPONENTS), 1e-12, 1 - 1e-12)
        a0 = max(rng.gamma(draws.A0_PRIOR[0]) / draws.A0_PRIOR[1], 1e-12)
        shape, scale = draws.SIGMA_L2_PRIOR
        kernel = self.model.kernel  # one that is not linear has its variance given
        sigma_l2 = scale / rng.gamma(shape) if self.n_dims and kernel.is_linear else h.sigma_l2
        locations = kernel.start(COMPONENTS, self.n_dims, sigma_l2, rng)
        n_features = kernel.features(locations, sigma_l2).shape[1]
        shape, scale = draws.SIGMA_M2_PRIOR
        sigma_m2 = scale / rng.gamma(shape) if self.model.has_mean else h.sigma_m2
        spread = np.sqrt([1.0] * n_features + [sigma_m2] * self.model.has_mean)
        base = np.ones(COLUMNS) if self.is_flat else rng.gamma(BASE_PRIOR, size=COLUMNS)
        base /= base.mean()
        atoms = np.maximum(rng.gamma(a0 * base[:, None], size=(COLUMNS, COMPONENTS)) / h.b0, 1e-300)
        hyper = replace(h, a0=a0, sigma_l2=sigma_l2, sigma_m2=sigma_m2)
        c = c if self.model.top in ("gamma", "pitman-yor") else 1.0
        atom_priors = np.ones((COLUMNS, COMPONENTS)), np.ones(COMPONENTS)
        g = Globals(*atom_priors, weights, locations, alpha, c, hyper, beta, base=base)
        f = rng.normal(size=(ROWS, len(spread))) * spread
        if self.model.heavy_tails:
            f[:, :n_features] /= np.sqrt(rng.gamma(h.df / 2, 2 / h.df, (ROWS, 1)))
        if self.model.has_covariates:
            flat = [0.0] * self.model.normalised  # mu of a normalised model has no coefficients
            gamma = (
                rng.normal(size=(len(spread) + len(flat), 2)) * np.sqrt(h.sigma_g2) * np.append(spread, flat)[:, None]
            )
            g, f = replace(g, coefficients=gamma), f + self.theta @ gamma[: len(spread)].T
        return g, atoms, f

    def batch(self, y):
        csr = sparse.csr_matrix(y.astype(float))
        theta = self.theta if self.model.has_covariates else None
        return Batch(csr.indptr.astype(np.int64), csr.indices, csr.data, COLUMNS, None, self.missing, theta)

    missing = None

    def field(self, g, f):
        features = self.model.kernel.features(g.locations, g.hyper.sigma_l2)
        return f @ np.hstack([features, np.ones((COMPONENTS, int(self.model.has_mean)))]).T

    def seen(self, atoms):
        """sum_i a_ki over the columns that a row looked at."""
        return atoms.sum(axis=0)

    def counts(self, x, atoms):
        """Counts by row, column and component."""
        return self.rng.poisson(x[:, None, :] * atoms)

    def given(self, g, atoms, f, shared):
        """State and rows of a sampler that knows which count is whose."""
        if self.scheme.scans:
            chain = Chain(atoms.sum(axis=0), self.rng, table=CountTable.of(shared.sum(axis=0)))
        else:
            chain = Chain(atoms.sum(axis=0), self.rng, atoms)
        # Which of an entry's counts is whose, in random order: a scan comes to the first of them first.
        z = [
            self.rng.permutation(np.repeat(np.arange(COMPONENTS), k))
            for k in shared.reshape(-1, COMPONENTS).astype(int)
        ]
        z = np.concatenate(z).astype(np.uint16)
        # Not its first step, in which it would place the counts itself.
        return State(g, chain, n_steps=len(self.scheme.moves)), RowDraws(shared.sum(axis=1).astype(float), f, z)

    def sweep(self, state, rows, y):
        batch = self.batch(y)
        for _ in self.scheme.moves:
            rows, statistics = self.scheme.local_step(self.scheme.visit(state), batch, rows)
            state = self.scheme.global_step(state, statistics, 1.0)
        return state, rows

    def atoms(self, state):
        """As the chain has them, or drawn given the counts."""
        chain = state.memory
        if not self.scheme.scans:
            return chain.atoms
        gammas = np.maximum(self.rng.gamma(state.globals.prior_shape + chain.table.counts), 1e-300)
        return np.maximum(gammas * (chain.scale / gammas.sum(axis=0)), 1e-300)

    def summary(self, g, atoms, f, x, y):
        """Bounded or slowly growing functions, so that their means have standard errors."""
        field = self.field(g, f)
        return [
            np.log(g.alpha), np.log(g.c), np.log(g.beta), np.log(g.weights[0]), np.log(g.weights.sum()),
            np.log(g.hyper.a0), np.log(g.hyper.sigma_m2), *self.of_base(g, atoms),
            np.tanh((g.locations**2).sum()), np.tanh(g.hyper.sigma_l2), np.tanh((field**2).mean()),
            np.tanh(field.mean()), np.log1p(y.sum()), np.log1p((y > 0).sum()), np.tanh((x * g.weights).sum()),
            np.tanh(atoms.sum()), np.tanh((field * x).mean()), np.log1p(y[:, 0] @ y[:, 1]),
            g.locations[0, :1].sum(), ((g.locations[0] - g.locations[1]) ** 2).sum(),
            np.tanh(np.abs(field[:, 0] - field[:, 1]).mean()), *self.effects(g, f),
        ]  # fmt: skip

    @property
    def is_flat(self):
        """Whether columns have one prior: gamma atoms where entries are missing."""
        return self.missing is not None and not self.model.normalised

    def of_base(self, g, atoms):
        """What the base measure is, and what it does."""
        if self.is_flat:
            return []
        return [g.base[0], np.log((g.base**2).sum()), np.tanh((g.base[:, None] * atoms).sum())]

    def effects(self, g, f):
        """What is there only with covariates, or only with heavy tails."""
        out = []
        if self.model.has_covariates:
            gamma = g.coefficients[: f.shape[1]]
            features = self.model.kernel.features(g.locations, g.hyper.sigma_l2)
            each = np.hstack([features, np.ones((COMPONENTS, len(gamma) - features.shape[1]))]) @ gamma
            out = [*np.tanh(each).ravel(), np.tanh((gamma**2).sum()), np.tanh((f.T @ self.theta * gamma).sum() / 4)]
        if self.model.heavy_tails:
            out.append(np.tanh(0.1 * (f[:, : f.shape[1] - self.model.has_level] ** 2).max()))
        return out

    def by_story(self, n):
        """Independent draws."""
        out = []
        for _ in range(n):
            g, atoms, f = self.prior()
            x = self.rng.gamma(g.weights * np.ones((ROWS, 1))) * link_function(self.model.link, self.field(g, f))
            out.append(self.summary(g, atoms, f, x, self.counts(x, atoms).sum(axis=2)))
        return np.array(out)

    def by_sweeps(self, n):
        """A chain whose data are drawn again after every sweep."""
        g, atoms, f = self.prior()
        x = self.rng.gamma(g.weights * np.ones((ROWS, 1))) * link_function(self.model.link, self.field(g, f))
        shared, out = self.counts(x, atoms), []
        for _ in range(n):
            state, rows = self.sweep(*self.given(g, atoms, f, shared), shared.sum(axis=2))
            order = state.memory.order_of(COMPONENTS)  # the story numbers components by their sticks
            g, atoms, f = state.globals.reorder(order), self.atoms(state)[:, order], rows.f
            rate = 1.0 / link_function(self.model.link, self.field(g, f)) + self.seen(atoms)
            x = self.rng.gamma(g.weights + rows.n[:, order]) / rate
            shared = self.counts(x, atoms)
            out.append(self.summary(g, atoms, f, x, shared.sum(axis=2)))
        return np.array(out)


class NormalisedJoint(Joint):
    """The same for the normalised models: row totals are given, and f has mu_u = log xi_u at its end.

    Weights of next to nothing make x vanish and mu_u grow to thousands, so that x is known by its logarithm.
    """

    totals = np.array([1, 2, 5, 9])

    def prior(self):
        """Globals, atoms and d, by the generative story."""
        g, atoms, d = super().prior()
        return g, atoms / atoms.sum(axis=0), d

    def field(self, g, f):
        return f[:, : self.n_dims] @ g.locations.T

    def counts(self, log_x, atoms):
        """Counts by row, column and component, given log x."""
        shared = np.zeros((ROWS, COLUMNS, COMPONENTS))
        for u, total in enumerate(self.totals):
            p = softmax(log_x[u] + self.log_seen(atoms, u))
            shared[u] = self.rng.multinomial(total, p.ravel()).reshape(p.shape)
        return shared

    def log_seen(self, atoms, u):
        """log a_ki of the columns that row u looked at."""
        return np.log(np.maximum(atoms, 1e-300))

    def level(self, f, log_x, atoms):
        """f with log xi_u, xi_u ~ Gamma(N_u, sum_k x_uk A_uk), at its end."""
        total = logsumexp(log_x + np.log(self.seen(atoms)), axis=1)
        return np.column_stack([f, np.log(self.rng.gamma(self.totals)) - total])

    def log_gamma(self, shape):
        """log of a gamma variable of the shape + 1, times U^(1 / shape): no shape is too small for it."""
        return np.log(self.rng.gamma(shape + 1.0)) - self.rng.exponential(size=np.shape(shape)) / shape

    def summary(self, g, atoms, f, log_x, y):
        """As above, but for what is given here, and with the level, the proportions and beta."""
        field = self.field(g, f)
        share = softmax(log_x, axis=1)
        return [
            np.log(g.alpha), np.log(g.c), np.log(g.beta), np.log(g.weights[0]), np.log(g.weights.sum()),
            np.log(g.hyper.a0), *self.of_base(g, atoms),
            np.tanh((g.locations**2).sum()), np.tanh(g.hyper.sigma_l2), np.tanh((field**2).mean()),
            np.tanh(f[:, -1] / 5).mean(), np.tanh(f[0, -1] / 5), share[:, 0].mean(), (share[3] ** 2).sum(),
            np.tanh((field * share).mean()), (share * g.weights).sum() / g.weights.sum(), np.log1p((y > 0).sum()),
            np.log1p(y[:, 0] @ y[:, 1]), (atoms**2).sum(), *self.effects(g, f),
        ]  # fmt: skip

    def of_prior(self):
        """Globals, atoms, f and log x, by the generative story."""
        g, atoms, d = self.prior()
        log_x = self.log_gamma(g.weights * np.ones((ROWS, 1))) + self.field(g, d)
        return g, atoms, self.level(d, log_x, atoms), log_x

    def by_story(self, n):
        """Independent draws."""
        out = []
        for _ in range(n):
            g, atoms, f, log_x = self.of_prior()
            out.append(self.summary(g, atoms, f, log_x, self.counts(log_x, atoms).sum(axis=2)))
        return np.array(out)

    def by_sweeps(self, n):
        """A chain whose data are drawn again after every sweep."""
        g, atoms, f, log_x = self.of_prior()
        shared, out = self.counts(log_x, atoms), []
        for _ in range(n):
            state, rows = self.sweep(*self.given(g, atoms, f, shared), shared.sum(axis=2))
            order = state.memory.order_of(COMPONENTS)
            g, atoms, f = state.globals.reorder(order), self.atoms(state)[:, order], rows.f
            log_rate = np.logaddexp(-self.field(g, f), f[:, -1:] + np.log(self.seen(atoms)))
            log_x = self.log_gamma(g.weights + rows.n[:, order]) - log_rate
            shared = self.counts(log_x, atoms)
            out.append(self.summary(g, atoms, f, log_x, shared.sum(axis=2)))
        return np.array(out)


class Masked:
    """With entries missing."""

    mask = np.array([[1, 0, 0], [0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=float)
    missing = sparse.csr_matrix(mask)

    def seen(self, atoms):
        return (1.0 - self.mask) @ atoms


class MaskedJoint(Masked, Joint):
    def counts(self, x, atoms):
        return self.rng.poisson(x[:, None, :] * atoms * (1.0 - self.mask)[:, :, None])


class MaskedNormalisedJoint(Masked, NormalisedJoint):
    """The totals are those of the columns that a row looked at, and so are its normalisers."""

    def log_seen(self, atoms, u):
        return np.where(self.mask[u, :, None] > 0, -np.inf, super().log_seen(atoms, u))


def joint_of(model, seed):
    """The joint distribution of a model given by name and options: "diln/beta" has another top, "cnpf/rbf" a kernel."""
    name, _, option = model.partition("/")
    if option == "masked":
        return (MaskedNormalisedJoint if MODELS[name].normalised else MaskedJoint)(name, seed)
    return (NormalisedJoint if MODELS[name].normalised else Joint)(name, seed, **OPTIONS[option])


def geweke(model, n_story, n_sweeps):
    """z scores of the differences of means; the chain's standard errors from effective sample sizes.

    Not from means of stretches: some summaries stay where they are for a hundred sweeps, as long as a stretch is.
    """
    story = joint_of(model, 1).by_story(n_story)
    chain = joint_of(model, 2).by_sweeps(n_sweeps)[100:]
    sizes = np.array([effective_sample_size(column[None]) if column.std() > 0 else 1.0 for column in chain.T])
    error = np.sqrt(chain.var(axis=0) / sizes + story.var(axis=0) / n_story)
    return (chain.mean(axis=0) - story.mean(axis=0)) / np.maximum(error, 1e-9)


@pytest.fixture
def narrow_field(monkeypatch):
    """The default priors of the variances have no mean: exp(F) of their tails overflows Poisson draws of the data."""
    monkeypatch.setattr(draws, "SIGMA_L2_PRIOR", (6.0, 1.5))
    monkeypatch.setattr(draws, "SIGMA_M2_PRIOR", (6.0, 1.5))


def kernel_of(name):
    nu = 1.5 if name == "matern" else None
    return {"kernel": make_kernel(name, 2, draw_frequencies(2, 1, 0.7, nu, np.random.default_rng(0)), 0.7)}


OPTIONS = {
    "": {},
    "together": {"one_by_one": False},
    **{top: {"top": top} for top in TOPS},
    **{kernel: kernel_of(kernel) for kernel in KERNELS},
    "covariates": {"has_covariates": True},
    "student-t": {"heavy_tails": True},
    "both": {"has_covariates": True, "heavy_tails": True},
    "rbf+both": {**kernel_of("rbf"), "has_covariates": True, "heavy_tails": True},
    "groups+covariates": {**kernel_of("groups"), "has_covariates": True},
}
JOINTS = (
    *MODELS, "cnpf/together", "diln/together", "diln/gamma", "diln/beta", "diln/masked", "cnpf/masked",
    "cnpf/covariates", "softplus-cnpf/covariates", "diln/covariates",
    "cnpf/student-t", "diln/student-t", "cnpf/both", "cnpf/pitman-yor", "cnpf/dirichlet", "hgp/beta",
    "hgp/pitman-yor", "cnpf/rbf", "softplus-cnpf/matern", "cnpf/groups", "cnpf/brownian", "cnpf/rbf+both",
    "cnpf/groups+covariates",
)  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("has_missing", [False, True])
def test_every_sweep_draws_the_counts(name, has_missing):
    """With a field the rest takes turns: what the loop calls a sweep is now the one half, now the other."""
    scheme, g = Gibbs(MODELS[name], CpuBackend(), has_missing=has_missing), joint_of(name, 0).prior()[0]
    assert len(scheme.sweeps) == 1 + MODELS[name].has_field
    assert all(isinstance(moves[0], ShareCounts) for moves in scheme.sweeps)
    steps, lengths = 0, []
    for _ in range(2 * len(scheme.sweeps)):
        lengths.append(scheme.passes(State(g, n_steps=steps)))
        steps += lengths[-1]
    assert lengths == 2 * [len(moves) for moves in scheme.sweeps]
    kinds = [type(move) for move in scheme.moves]
    assert all(issubclass(kind, ShareCounts) or kinds.count(kind) == 1 for kind in kinds)


# Every model, and some with their atoms drawn; what else changes the moves is slow.
FEW = (*MODELS, "cnpf/masked", "cnpf/together", "diln/masked")


@pytest.mark.parametrize(
    "model", [name if name in FEW else pytest.param(name, marks=pytest.mark.slow) for name in JOINTS]
)
def test_joint_distribution(model, narrow_field):
    """Twenty to 31 z scores of a right sampler: beyond 4 once in a thousand runs."""
    joint = joint_of(model, 0).model
    # Given f, places are slow to change; with covariates, or a level alone, exp F stays for long where it is large.
    slow = not joint.kernel.is_linear, joint.has_covariates or model == "scaled-hgp"
    # Where both are so, 12,000 sweeps have not seen the excursions by which 60,000 tell an effective size of a third.
    n_sweeps = (4_000, 12_000, 60_000)[sum(slow)]
    assert np.abs(geweke(model, 4_000, n_sweeps)).max() < 4.0


@pytest.mark.slow
@pytest.mark.parametrize("model", JOINTS)
def test_joint_distribution_at_length(model, narrow_field):
    assert np.abs(geweke(model, 60_000, 60_000)).max() < 4.0


def test_joint_distribution_sees_a_wrong_move(narrow_field, monkeypatch):
    """The test has teeth: tables that get lost are found out."""
    right = draws.draw_weights
    monkeypatch.setattr(draws, "draw_weights", lambda tables, *rest, **more: right(0.6 * tables, *rest, **more))
    assert np.abs(geweke("hgp", 6_000, 4_000)).max() > 4.0


def test_weights_without_data_are_the_prior():
    """No tables, no losses: s ~ Gamma(alpha, c) and v ~ Beta(1, alpha) come back."""
    rng, weights, alpha, c = np.random.default_rng(4), np.ones(3), 1.7, 0.8
    totals, first = [], []
    for sweep in range(6_000):
        weights = draws.draw_weights(np.zeros(3), np.zeros(3), weights, alpha, c, rng)
        if sweep % 3 == 0:  # slices are correlated
            totals.append(weights.sum())
            first.append(weights[0] / weights.sum())
    assert stats.kstest(totals, stats.gamma(alpha, scale=1 / c).cdf).pvalue > 1e-3
    assert stats.kstest(first, stats.beta(1.0, alpha).cdf).pvalue > 1e-3


def test_slice_sampler_draws_its_density():
    rng, at, found = np.random.default_rng(5), 0.3, []
    for _ in range(8_000):
        at = draws.draw_slice(lambda z: -0.5 * z * z, at, rng)
        found.append(at)
    assert stats.kstest(found[::4], "norm").pvalue > 1e-3


def test_threads_change_nothing(make_problem):
    """The same seed gives the same chain for any number of threads."""
    ends = []
    for n_jobs in (1, 2):
        problem = make_problem("cnpf", n_rows=60)
        problem.scheme = Gibbs(MODELS["cnpf"], CpuBackend(n_jobs))
        problem.start = problem.scheme.begin(problem.globals, np.random.default_rng(6))
        ends.append(problem.run(5, watch="nothing").state.globals)
    for name in ("atom_shape", "weights", "locations"):
        np.testing.assert_array_equal(getattr(ends[0], name), getattr(ends[1], name))


def test_joint_distribution_sees_a_wrong_base(narrow_field, monkeypatch):
    """And so is a base measure that knows of too few tables."""
    right = draws.draw_base
    monkeypatch.setattr(draws, "draw_base", lambda tables, rng: right(0.5 * tables, rng))
    assert np.abs(geweke("hgp", 6_000, 4_000)).max() > 4.0


def test_joint_distribution_sees_a_wrong_level(narrow_field, monkeypatch):
    """And so are levels drawn too high."""
    right = ShareCounts._level
    monkeypatch.setattr(
        ShareCounts, "_level", lambda self, view, f, x: right(self, view, f, x) + np.eye(f.shape[1])[-1]
    )
    assert np.abs(geweke("diln", 6_000, 4_000)).max() > 4.0


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("options", [{}, {"exposure": True}, {"missing": True}])
def test_every_model_samples(make_problem, model, options):
    if MODELS[model].normalised and "exposure" in options:
        pytest.skip("a normalised model has no exposure")
    problem = make_problem(model, **options)
    problem.scheme = Gibbs(MODELS[model], CpuBackend(), has_missing="missing" in options)
    problem.start = problem.scheme.begin(problem.globals, np.random.default_rng(7))
    end = problem.run(6, watch="nothing")
    g = end.state.globals
    assert np.isfinite(g.atom_mean).all()
    assert (g.weights > 0).all()
    held = np.rint(g.held_counts).sum()  # whole numbers but for rounding
    # A normalised model makes up for what it did not look at.
    assert held >= problem.y.sum() if MODELS[model].normalised else np.isclose(held, problem.y.sum())
    assert end.reason == "made all 6 epochs"  # of which those of a chain are told as sweeps


@pytest.mark.slow
def test_joint_distribution_sees_coefficients_that_forget_their_prior(narrow_field, monkeypatch):
    """And so are coefficients of a ridge that is not there."""
    right = regression.draw_coefficients
    monkeypatch.setattr(regression, "draw_coefficients", lambda sums, prior, s2, rng: right(sums, prior, 100 * s2, rng))
    assert np.abs(geweke("cnpf/covariates", 6_000, 4_000)).max() > 4.0


@pytest.mark.slow
def test_joint_distribution_sees_a_wrong_variance_of_levels(narrow_field, monkeypatch):
    """And so is a sigma_m^2 that believes half of what the levels tell."""
    right = draws.draw_sigma_m2
    monkeypatch.setattr(draws, "draw_sigma_m2", lambda n, squares, *rest: right(n, 0.5 * squares, *rest))
    assert np.abs(geweke("scaled-hgp", 6_000, 4_000)).max() > 4.0


def test_the_coefficients_of_levels_tell_of_their_variance():
    """Gamma_mu is in units of sigma_m: with f and Gamma_mu given, n + C numbers of variance sigma_m^2 are."""
    rng, away, of_level, sigma_g2 = np.random.default_rng(8), np.array([1.0, -2.0, 0.5]), np.array([[0.6, -1.2]]), 0.5
    found = [draws.draw_sigma_m2(3, float(away @ away), of_level, sigma_g2, rng) for _ in range(4_000)]
    shape, scale = draws.SIGMA_M2_PRIOR

    def log_joint(v):
        given = stats.norm(0, np.sqrt(v)).logpdf(away[:, None]).sum(axis=0)
        prior = stats.norm(0, np.sqrt(sigma_g2 * v)).logpdf(of_level.T).sum(axis=0)
        return given + prior + stats.invgamma(shape, scale=scale).logpdf(v)

    grid = np.exp(np.linspace(-4.0, 5.0, 4_000))
    mass = np.exp(log_joint(grid)) * grid  # in log v
    cdf = np.cumsum(mass) / mass.sum()
    assert stats.kstest(np.interp(found, grid, cdf), "uniform").pvalue > 1e-3


@pytest.mark.parametrize("model", ["cnpf", "diln"])
def test_counts_are_kept_block_by_block(make_problem, model):
    """Blocks of seven rows: every count stays in its column, and n, z and the table tell of the same counts."""
    problem = make_problem(model, n_rows=60)
    problem.scheme = Gibbs(MODELS[model], CpuBackend(2))
    problem.start = problem.scheme.begin(problem.globals, np.random.default_rng(6))
    n_rows = problem.rows.n_rows
    end = problem.run(4, Plan(n_rows, n_rows, 7, None), watch="nothing")
    rows, table = end.memory.get(problem.rows.all), end.state.memory.table
    counts = problem.rows.counts
    n, c = np.zeros_like(rows.n), np.zeros_like(table.counts)
    of_rows = np.repeat(np.repeat(np.arange(counts.n_rows), np.diff(counts.indptr)), counts.data)
    np.add.at(n, (of_rows, rows.z), 1)
    np.add.at(c, (np.repeat(counts.indices, counts.data), rows.z), 1)
    np.testing.assert_array_equal(rows.n, n)
    np.testing.assert_array_equal(table.counts, c)
    np.testing.assert_array_equal(table.counts.sum(axis=1), problem.y.sum(axis=0))
