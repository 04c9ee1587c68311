"""Structured variational inference: q(x_u, f_u) = q(f_u) prod_k q(x_uk | f_u), with f_u Gaussian.

The conditional q(x_uk | f_u) = Gamma(w_k + n_uk, 1 / r(F_uk) + A_k) is summed out exactly, which leaves a
negative-binomial likelihood for f_u. Every update is closed form. Two ways to share the counts out:

- ``allocation="digamma"`` is the mean-field optimum for phi: with the exponential link no update lowers the bound.
- ``allocation="zero-order"`` treats x and a as summed out, to zeroth order in the spread of the allocated counts:
  exp psi(shape) becomes shape, for rows and for atoms, and the tables that weights and a0 are learned from are
  averaged over whole-number counts (`globals.expected_tables`). It has no bound and predicts far better.

A normalised model differs in its atoms (`dirichlet`) and in what is wanted of its rows, the proportions; its mu_u,
whose prior is flat, frees the normaliser (`models.cnpf`). Every row that it is fitted to must have counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma, gammaln

from cormorant.backends.packing import unpack
from cormorant.backends.select import Backend
from cormorant.inference import dirichlet
from cormorant.inference import globals as update
from cormorant.inference.batch import Batch
from cormorant.inference.field import Design, Field, FieldProblem
from cormorant.inference.links import LINKS, Link
from cormorant.inference.prior import prior_of
from cormorant.inference.proportions import proportions, proportions_of_prior, shares_of_prior
from cormorant.inference.regression import log_prior, told_of_coefficients, update_coefficients, with_level
from cormorant.inference.scheme import Variational
from cormorant.inference.state import Globals, Locals, RowPosterior, State, Statistics
from cormorant.inference.tops import TOPS, Top
from cormorant.models.cnpf import PoissonFactorization


@dataclass(frozen=True)
class Effort:
    """How long a visit to a row lasts: at most ``rounds`` of one field step and ``sweeps`` allocation sweeps.

    With a ``tol``, each row ends where its E x first moves by less than that share of its total.
    """

    rounds: int
    sweeps: int
    tol: float = 0.0


COLD = Effort(rounds=5, sweeps=3)  # a training row without a place to start from
WARM = Effort(rounds=2, sweeps=2)  # a training row that goes on where its last visit ended
FINAL = Effort(rounds=30, sweeps=3, tol=1e-3)  # a row whose posterior is wanted for itself


@dataclass(frozen=True)
class View:
    """What every block of rows needs of the globals, computed once a global step."""

    globals: Globals
    design: Design
    atoms: np.ndarray  # exp(E log a) (zero-order: E a), each column's largest taken out
    log_top: np.ndarray  # the logarithms of those
    atom_mean: np.ndarray


@dataclass(frozen=True)
class Solution:
    """A solved block of rows."""

    problem: FieldProblem
    field: Field
    n: np.ndarray
    theta: np.ndarray  # proportional to exp(E log x)
    ratio: np.ndarray  # y / normaliser of each entry


def evidence(batch: Batch, n: np.ndarray, theta: np.ndarray, ratio: np.ndarray) -> float:
    """sum_ui y_ui log normaliser_ui - sum_uk n_uk log theta_uk: what the allocation adds to the bound."""
    y = batch.counts.astype(np.float64)
    return float(y @ np.log(y / ratio) - np.einsum("uk,uk->", n, np.log(theta)))


@dataclass(frozen=True)
class Structured(Variational):
    """The scheme for one model. Hyper-parameters in ``learn`` (only a0 can be) follow the data."""

    model: PoissonFactorization
    backend: Backend
    allocation: str = "zero-order"
    learn: frozenset[str] = frozenset({"a0"})

    @property
    def link(self) -> Link:
        """r in x ~ Gamma(w, 1 / r(F))."""
        return LINKS[self.model.link]

    @property
    def top(self) -> Top:
        """The prior of the weights."""
        return TOPS[self.model.top]

    @property
    def zero_order(self) -> bool:
        """Whether exp psi(w + n) is replaced by w + n."""
        return self.allocation == "zero-order"

    @property
    def dtype(self) -> type:
        """Single precision for the fast form; double where the bound is watched."""
        return np.float32 if self.zero_order else np.float64

    def view(self, g: Globals) -> View:
        """Everything that depends on the globals alone."""
        log_atoms = np.log(g.atom_shape) - np.log(g.atom_rate) if self.zero_order else self._mean_log_atoms(g)
        log_top = log_atoms.max(axis=1)
        least = 0.5 * np.log(np.finfo(self.dtype).tiny)
        atoms = np.exp(np.maximum(log_atoms - log_top[:, None], least)).astype(self.dtype)
        return View(g, self.design(g), atoms, log_top, g.atom_mean)

    def _mean_log_atoms(self, g: Globals) -> np.ndarray:
        """E log a."""
        return (
            dirichlet.mean_log(g.atom_shape) if self.model.normalised else digamma(g.atom_shape) - np.log(g.atom_rate)
        )

    def design(self, g: Globals) -> Design:
        """g_k = (l_k, 1), less the parts that this model lacks."""
        loadings = np.hstack([g.locations, np.ones((g.n_components, int(self.model.has_level)))])
        return Design.build(loadings, prior_of(self.model, g.hyper, g.locations.shape[1]))

    def _problem(self, view: View, batch: Batch) -> FieldProblem:
        """The field step of a block of rows."""
        design = view.design.given(batch.covariates, view.globals.coefficients)
        return FieldProblem(design, self.link, view.globals.weights, batch.log_rate(view.atom_mean), self.backend)

    def _allocate(self, view: View, batch: Batch, field: Field, n: np.ndarray, sweeps: int, zero_order: bool):
        n, theta, ratio = self.backend.allocate(
            batch.indptr, batch.indices, batch.counts, view.atoms, view.globals.weights,
            field.expansion.log_scale, n, sweeps, zero_order,
        )  # fmt: skip
        return n.astype(np.float64), theta, ratio

    def _begin(self, view: View, batch: Batch, problem: FieldProblem) -> tuple[Field, np.ndarray]:
        """q(f) = p(f), and counts shared by the weights: the digamma of a small one would give all to one component."""
        level = None
        if self.model.normalised:
            # The best one, were all locations zero: N = (sum_k w_k + N) A exp(mu) / (1 + A exp(mu)).
            level = np.log(batch.row_totals / (np.exp(problem.log_rate) @ view.globals.weights))
        field = problem.prior(batch.n_rows, level)
        nothing = np.zeros((batch.n_rows, len(view.globals.weights)))
        return field, self._allocate(view, batch, field, nothing, 1, True)[0]

    def solve(self, view: View, batch: Batch, start: Locals | None, effort: Effort) -> Solution:
        """Alternate field steps and allocation sweeps over one block of rows."""
        problem = self._problem(view, batch)
        if start is None:
            field, n = self._begin(view, batch, problem)
        else:
            field = problem.at(start.mean.astype(np.float64), start.covariance.astype(np.float64))
            n = start.n.astype(np.float64)
        theta = ratio = n
        for _ in range(effort.rounds):
            field = problem.step(field, n)
            n, theta, ratio = self._allocate(view, batch, field, n, effort.sweeps, self.zero_order)
        return Solution(problem, field, n, theta, ratio)

    def settle(self, view: View, batch: Batch) -> tuple[Field, np.ndarray]:
        """q(f) and n of rows seen for the first time, each followed until its E x moves by a small share of its total.

        A row that rests is left where it is, whatever the rows beside it do; once few still move, only they go on.
        """
        problem, weights = self._problem(view, batch), view.globals.weights
        field, n = self._begin(view, batch, problem)
        x = (weights + n) * field.expansion.mean_scale
        found = (field.mean.copy(), field.covariance.copy(), n.copy())
        index, moving = np.arange(batch.n_rows), np.ones(batch.n_rows, bool)  # positions in ``found``; which still move
        part, at = batch, problem
        for _ in range(FINAL.rounds):
            before = x
            field = at.step(field, n)
            n, _, _ = self._allocate(view, part, field, n, FINAL.sweeps, self.zero_order)
            x = (weights + n) * field.expansion.mean_scale
            for kept, new in zip(found, (field.mean, field.covariance, n), strict=True):
                kept[index[moving]] = new[moving]
            moving &= np.abs(x - before).sum(axis=1) > FINAL.tol * x.sum(axis=1)
            if not moving.any():
                break
            if 2 * moving.sum() <= len(moving):
                index, part, at = index[moving], part.take(moving), at.take(moving)
                field, n, x = field.take(moving), n[moving], x[moving]
                moving = np.ones(len(index), bool)
        return problem.at(found[0], found[1]), found[2]

    def local_step(
        self, view: View, batch: Batch, start: Locals | None, want_bound: bool = False
    ) -> tuple[Locals, Statistics]:
        """Solve a block of rows and sum what the global step needs of it."""
        s = self.solve(view, batch, start, COLD if start is None else WARM)
        statistics = self._statistics(view, batch, s, self._row_bound(view, batch, s) if want_bound else 0.0)
        kept = (s.n, s.field.mean, s.field.covariance)
        return Locals(*(array.astype(self.dtype) for array in kept)), statistics

    def _statistics(self, view: View, batch: Batch, s: Solution, bound: float) -> Statistics:
        e, n, w, field = s.field.expansion, s.n, view.globals.weights, s.field
        offsets, rows, order = batch.by_column
        product = self.backend.product
        # Without a bound the averaged curvature can be negative, and the location step needs a positive one.
        by_weight = np.maximum(e.shape_curvature, 0.0)
        by_count = n * np.maximum(e.shape_curvature + e.count_curvature, 0.0)
        features = np.hstack([field.second_moments(), field.mean, np.ones((batch.n_rows, 1))])
        told = {} if batch.covariates is None else told_of_coefficients(s.problem, field, n, batch.covariates)
        return Statistics(
            n_rows=batch.n_rows,
            counts=self.backend.column_totals(offsets, rows, s.ratio[order], s.theta, view.atoms),
            tables=update.expected_tables(n, w, self.zero_order).sum(axis=0),
            log_one=e.log_one.sum(axis=0),
            exposure=batch.exposed((w + n) * e.mean_scale),
            share=np.stack([e.shape_slope.sum(axis=0), (n * e.shape_slope).sum(axis=0)]),
            curvature=np.stack([product(by_weight.T, features), product(by_count.T, features)]),
            linear=np.stack(
                [
                    product((by_weight * field.field_mean - e.shape_slope).T, field.mean),
                    product((by_count * field.field_mean + n * (e.count_slope - e.shape_slope)).T, field.mean),
                ]
            ),
            bound=bound,
            **told,
        )

    def _row_bound(self, view: View, batch: Batch, s: Solution) -> float:
        w = view.globals.weights
        gammas = (gammaln(w + s.n) - gammaln(w)).sum()
        fit = evidence(batch, s.n, s.theta, s.ratio) + batch.counts.astype(np.float64) @ view.log_top[batch.indices]
        # p(y | N) of a multinomial is N times the integral over mu of the Poisson one.
        given_totals = np.log(batch.row_totals).sum() if self.model.normalised else 0.0
        return float(gammas + s.problem.objective(s.field, s.n).sum() + fit + batch.log_base + given_totals)

    def global_step(self, state: State, new: Statistics, rho: float) -> State:
        """Average the statistics, then update weights, atoms and locations in turn, each seeing the one before."""
        s = state.memory.blend(new, rho) if isinstance(state.memory, Statistics) else new
        g = self.top.update(state.globals, s.tables, s.log_one)
        h = g.hyper
        share, curvature, linear = (
            g.weights.reshape(-1, *[1] * (pair.ndim - 2)) * pair[0] + pair[1]
            for pair in (s.share, s.curvature, s.linear)
        )
        size = linear.shape[1]
        shape = h.a0 + s.counts
        if self.model.normalised:
            if s.exposure.ndim == 2:
                shape = self._make_up(g, shape, dirichlet.lacking(s.exposure))
            rate = shape.sum(axis=0)
        elif self.link.is_bound and s.exposure.ndim == 1:
            log_total = np.log(g.atom_total)
            total = update.solve_atom_total(shape.sum(axis=0), h.b0, share, curvature[:, -1], log_total)
            rate = shape.sum(axis=0) / total
            # The slopes were taken at the old A; move them to the new one.
            linear = linear - (np.log(total) - log_total)[:, None] * curvature[:, -1 - size : -1]
        else:
            rate = h.b0 + s.exposure
        locations, coefficients = g.locations, g.coefficients
        if self.model.has_covariates:
            coefficients = update_coefficients(s.regression, prior_of(self.model, h, locations.shape[1]), h.sigma_g2)
        if self.model.has_locations:
            second = unpack(curvature[:, : -1 - size], size)
            d = slice(0, locations.shape[1])
            cross = second[:, d, -1] if self.model.has_level else 0.0
            locations = update.update_locations(second[:, d, d], linear[:, d] - cross, h.sigma_l2)
            if self.zero_order and self.model.has_level:
                # What all locations share is a second row mean: l_bar . d_u + mu_u. Left to mu_u, which has the room
                # for it, it no longer makes every pair of components look positively correlated.
                held = s.counts.sum(axis=0) + 1e-300
                common = held @ locations / held.sum()
                locations = locations - common
                coefficients = with_level(coefficients, common)
        if "a0" in self.learn:
            h = replace(h, a0=self._learn_a0(s, shape, rate, h.a0, h.b0))
        g = replace(g, atom_shape=shape, atom_rate=rate, locations=locations, coefficients=coefficients, hyper=h)
        return State(g, s, state.n_steps + 1)

    def _make_up(self, g: Globals, shape: np.ndarray, lacking: np.ndarray) -> np.ndarray:
        """Dirichlet shapes where some columns were looked at less than others (zero-order: counts that they lack)."""
        if self.zero_order:
            return shape + lacking * g.atom_mean
        return dirichlet.update_shape(shape, lacking, g.atom_shape)

    def _learn_a0(self, s: Statistics, shape: np.ndarray, rate: np.ndarray, a0: float, b0: float) -> float:
        """The shape of the atoms' prior."""
        if self.model.normalised:
            return dirichlet.update_a0_collapsed(shape - a0, a0) if self.zero_order else dirichlet.update_a0(shape, a0)
        if self.zero_order:
            return update.update_a0_collapsed(s.counts, s.exposure, a0, b0)
        return update.update_a0(shape, rate, a0, b0)

    def bound(self, g: Globals, statistics: Statistics) -> float:
        """The evidence lower bound: the rows' part, and minus the divergence of the globals from their priors."""
        h = g.hyper
        total = statistics.bound + self._bound_of_atoms(g) + self.top.log_prior(g)
        if self.model.has_locations:
            total -= 0.5 * (g.locations**2 / h.sigma_l2 + np.log(2 * np.pi * h.sigma_l2)).sum()
        if self.model.has_covariates:
            total += log_prior(g.coefficients, prior_of(self.model, h, g.locations.shape[1]), h.sigma_g2)
        return float(total)

    def _bound_of_atoms(self, g: Globals) -> float:
        """Minus the divergence of q(a) from its prior."""
        h = g.hyper
        if self.model.normalised:
            return dirichlet.log_prior_and_entropy(g.atom_shape, h.a0)
        shape, rate = g.atom_shape, np.broadcast_to(g.atom_rate, g.atom_shape.shape)
        prior = h.a0 * np.log(h.b0) - gammaln(h.a0) + (h.a0 - 1.0) * self._mean_log_atoms(g) - h.b0 * shape / rate
        entropy = shape - np.log(rate) + gammaln(shape) + (1.0 - shape) * digamma(shape)
        return float((prior + entropy).sum())

    def posterior(self, view: View, batch: Batch, want_variance: bool = False) -> RowPosterior:
        """E x (and Var x) of rows seen for the first time; of a normalised model, of their proportions."""
        if self.model.normalised:
            return self._proportions(view, batch, want_variance)
        field, n = self.settle(view, batch)
        shape = view.globals.weights + n
        mean = shape * field.expansion.mean_scale
        if not want_variance and batch.missing is None:
            return RowPosterior(mean, None)
        first, second = self._problem(view, batch).scale_moments(field)
        if batch.missing is not None:
            mean = shape * first  # the bound's own average is too loose for rows of which little was looked at
        variance = shape * second + shape**2 * np.maximum(second - first**2, 0.0)
        return RowPosterior(mean, variance if want_variance else None)

    def _proportions(self, view: View, batch: Batch, want_variance: bool) -> RowPosterior:
        """E pi (and Var pi); a row without counts has its prior's."""
        g, shown = view.globals, batch.row_totals > 0
        mean, variance = np.empty((2, batch.n_rows, g.n_components))
        of_empty = view.design.given(batch.take(~shown).covariates, g.coefficients)
        mean[~shown], variance[~shown] = proportions_of_prior(g.weights, of_empty)
        if shown.any():
            part = batch.take(shown)
            field, n = self.settle(view, part)
            mean[shown], variance[shown] = proportions(self._problem(view, part), field, g.weights + n)
        return RowPosterior(mean, variance if want_variance else None)

    def prior_mean(self, g: Globals, covariates: np.ndarray | None = None) -> np.ndarray:
        """E x_k / sum_j A_j x_j of a row that shows nothing, averaged over draws from its prior, always the same.

        Not E x, which a few huge rows would make up: long locations give exp F a heavy tail, a Student-t no mean.
        """
        design = self.design(g).given(covariates, g.coefficients)
        if self.model.normalised:
            return proportions_of_prior(g.weights, design)[0]
        return shares_of_prior(g.weights, g.atom_total, design, self.link, self.backend)
