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
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from cormorant.backends.packing import unpack
from cormorant.backends.select import Backend
from cormorant.backends.vectors import pad
from cormorant.inference import dirichlet, locations
from cormorant.inference import globals as update
from cormorant.inference.atoms import bound_of_atoms, learn_prior, made_up_shape, mean_log_atoms
from cormorant.inference.batch import Batch
from cormorant.inference.field import Design, Field, FieldProblem, precision_of
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

    With a ``tol``, a row ends where its counts (or E x, where its posterior is wanted) first move by less than that
    share of their total.
    """

    rounds: int
    sweeps: int
    tol: float = 0.0


COLD = Effort(rounds=5, sweeps=3)  # a training row without a place to start from
WARM = Effort(rounds=2, sweeps=2, tol=1e-2)  # a training row that goes on where its last visit ended
FINAL = Effort(rounds=30, sweeps=3, tol=1e-3)  # a row whose posterior is wanted for itself
PRIOR_STEPS = 5  # towards a0 and the base at each visit to all rows: a column of many counts has far to go


@dataclass(frozen=True)
class View:
    """What every block of rows needs of the globals, computed once a global step."""

    globals: Globals
    design: Design
    padded: np.ndarray  # exp(E log a) (zero-order: E a), each column's largest taken out, and zeros (`vectors.pad`)
    log_top: np.ndarray  # the logarithms of those
    atom_total: np.ndarray  # A_k

    @cached_property
    def atom_mean(self) -> np.ndarray:
        """E a, which is wanted only where entries are missing."""
        return self.globals.atom_mean

    def log_rate(self, batch: Batch) -> np.ndarray:
        """Log of e_u A_k, as these rows looked."""
        return batch.log_rate_of(self.atom_total, None if batch.missing is None else self.atom_mean)

    @property
    def atoms(self) -> np.ndarray:
        """Columns x components."""
        return self.padded[:, : self.globals.n_components]


@dataclass(frozen=True)
class Solution:
    """A solved block of rows."""

    problem: FieldProblem
    field: Field
    n: np.ndarray
    theta: np.ndarray  # proportional to exp(E log x)
    ratio: np.ndarray  # y / normaliser of each entry

    def put(self, rows: np.ndarray, entries: np.ndarray, solved: Solution) -> None:
        """Take over what some rows (a mask; another of their entries) have been solved to."""
        self.field.put(rows, solved.field)
        self.n[rows], self.theta[rows], self.ratio[entries] = solved.n, solved.theta, solved.ratio


def evidence(batch: Batch, n: np.ndarray, theta: np.ndarray, ratio: np.ndarray) -> float:
    """sum_ui y_ui log normaliser_ui - sum_uk n_uk log theta_uk: what the allocation adds to the bound."""
    y = batch.counts.astype(np.float64)
    return float(y @ np.log(y / ratio) - np.einsum("uk,uk->", n, np.log(theta)))


@dataclass(frozen=True)
class Structured(Variational):
    """The scheme for one model.

    What is in ``learn`` follows the data: a0, and sigma_l2 of a kernel not linear. Rows that are seen once the globals
    are known may have another allocation than those that they were found by (``row_allocation``; None: the same).
    """

    model: PoissonFactorization
    backend: Backend
    allocation: str = "zero-order"
    learn: frozenset[str] = frozenset({"a0"})
    row_allocation: str | None = None

    @property
    def solver(self) -> Structured:
        """What predicts rows."""
        return replace(self, allocation=self.row_allocation or self.allocation, row_allocation=None)

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
        if self.zero_order:
            log_atoms = np.log(g.atom_shape) - np.log(g.atom_rate)
        else:
            log_atoms = mean_log_atoms(g, self.model.normalised)
        log_top = log_atoms.max(axis=1)
        least = 0.5 * np.log(np.finfo(self.dtype).tiny)
        atoms = np.exp(np.maximum(log_atoms - log_top[:, None], least))
        return View(g, self.design(g), pad(atoms, self.dtype), log_top, g.atom_total)

    def design(self, g: Globals) -> Design:
        """g_k = (sigma phi(l_k), 1), less the parts that this model lacks."""
        features = self.model.kernel.features(g.locations, g.hyper.sigma_l2)
        loadings = np.hstack([features, np.ones((g.n_components, int(self.model.has_level)))])
        return Design.build(loadings, prior_of(self.model, g.hyper, features.shape[1]))

    def _problem(self, view: View, batch: Batch) -> FieldProblem:
        """The field step of a block of rows."""
        design = view.design.given(batch.covariates, view.globals.coefficients)
        weights, log_rate = view.globals.weights, view.log_rate(batch)
        dtype = precision_of(batch.row_totals.max(initial=0.0) + weights.sum()) if self.zero_order else np.float64
        return FieldProblem(design, self.link, weights, log_rate, self.backend, dtype)

    def _allocate(self, view: View, batch: Batch, field: Field, n: np.ndarray, sweeps: int, zero_order: bool):
        n, theta, ratio = self.backend.allocate(
            batch.indptr, batch.indices, batch.counts, view.padded, view.globals.weights,
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
            field = problem.at(start.mean.astype(np.float64), start.covariance)
            n = start.n.astype(np.float64)
        return self._alternate(view, batch, problem, field, n, effort)

    def _alternate(
        self, view: View, batch: Batch, problem: FieldProblem, field: Field, n: np.ndarray, effort: Effort
    ) -> Solution:
        """The rounds of one visit; rows that rest are left alone, whatever the rows beside them do."""
        before, field = n, problem.step(field, n)
        solution = Solution(problem, field, *self._allocate(view, batch, field, n, effort.sweeps, self.zero_order))
        if effort.rounds == 1:
            return solution
        rest, moving = replace(effort, rounds=effort.rounds - 1), np.ones(batch.n_rows, bool)
        if effort.tol > 0.0:
            moving = np.abs(solution.n - before).sum(axis=1) > effort.tol * batch.row_totals
        if moving.all():
            return self._alternate(view, batch, problem, field, solution.n, rest)
        if moving.any():
            others = (batch.take(moving), problem.take(moving), field.take(moving), solution.n[moving])
            solution.put(moving, np.repeat(moving, np.diff(batch.indptr)), self._alternate(view, *others, rest))
        return solution

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
        product, dtype = self.backend.product, s.problem.dtype
        # Without a bound the averaged curvature can be negative, and the location step needs a positive one.
        by_weight = np.maximum(e.shape_curvature, 0.0)
        by_count = n * np.maximum(e.shape_curvature + e.count_curvature, 0.0)
        features = np.hstack(
            [field.second_moments(self.backend), field.mean.astype(dtype), np.ones((batch.n_rows, 1), dtype)]
        )
        curvatures = [product(a.T.astype(dtype), features).astype(np.float64) for a in (by_weight, by_count)]
        told = {} if batch.covariates is None else told_of_coefficients(s.problem, field, n, batch.covariates)
        return Statistics(
            n_rows=batch.n_rows,
            counts=self.backend.column_totals(offsets, rows, s.ratio[order], s.theta, view.padded),
            tables=update.expected_tables(n, w, self.zero_order).sum(axis=0),
            log_one=e.log_one.sum(axis=0),
            exposure=batch.exposed((w + n) * e.mean_scale),
            share=np.stack([e.shape_slope.sum(axis=0), (n * e.shape_slope).sum(axis=0)]),
            curvature=np.stack(curvatures),
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
        size, shape = linear.shape[1], g.prior_shape + s.counts
        if self.model.normalised:
            if s.exposure.ndim == 2:
                shape = made_up_shape(g, shape, dirichlet.lacking(s.exposure), self.zero_order)
            rate = shape.sum(axis=0)
        elif self.link.is_bound and s.exposure.ndim == 1:
            log_total = np.log(g.atom_total)
            total = update.solve_atom_total(shape.sum(axis=0), h.b0, share, curvature[:, -1], log_total)
            rate = shape.sum(axis=0) / total
            # The slopes were taken at the old A; move them to the new one.
            linear = linear - (np.log(total) - log_total)[:, None] * curvature[:, -1 - size : -1]
        else:
            rate = h.b0 + s.exposure
        g = replace(g, atom_shape=shape, atom_rate=rate)
        if self.model.has_covariates:
            prior = prior_of(self.model, h, size - self.model.has_level)
            g = replace(g, coefficients=update_coefficients(s.regression, prior, h.sigma_g2))
        if self.model.has_locations:
            g = self._relocate(g, unpack(curvature[:, : -1 - size], size), linear, s.counts.sum(axis=0) + 1e-300)
        if "a0" in self.learn:
            is_fresh = s is new or rho == 1.0  # nothing earlier is averaged in: the first step, or all rows
            steps = PRIOR_STEPS if is_fresh else 1
            g = learn_prior(g, s, self.model.normalised, self.zero_order, steps)
        return State(g, s, state.n_steps + 1)

    def _relocate(self, g: Globals, second: np.ndarray, linear: np.ndarray, held: np.ndarray) -> Globals:
        """Locations, and sigma_l2 if it is learned, from sums of omega E f f^T and of what pulls at each g_k."""
        d = slice(0, second.shape[1] - self.model.has_level)
        cross = second[:, d, -1] if self.model.has_level else 0.0
        surrogate = locations.Surrogate(second[:, d, d], linear[:, d] - cross)
        g = locations.relocate(self.model.kernel, surrogate, g, "sigma_l2" in self.learn)
        if self.model.kernel.is_linear and self.zero_order and self.model.has_level:
            # What all locations share is a second row mean: l_bar . d_u + mu_u. Left to mu_u, which has the room
            # for it, it no longer makes every pair of components look positively correlated.
            common = held @ g.locations / held.sum()
            g = replace(g, locations=g.locations - common, coefficients=with_level(g.coefficients, common))
        return g

    def bound(self, g: Globals, statistics: Statistics) -> float:
        """The evidence lower bound: the rows' part, and minus the divergence of the globals from their priors."""
        total = statistics.bound + bound_of_atoms(g, self.model.normalised) + self.top.log_prior(g)
        if self.model.has_locations:
            total += locations.log_prior(self.model.kernel, g.locations, g.hyper.sigma_l2).sum()
        if self.model.has_covariates:
            prior = prior_of(self.model, g.hyper, len(g.coefficients) - self.model.has_level)
            total += log_prior(g.coefficients, prior, g.hyper.sigma_g2)
        return float(total)

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
