"""Mean-field inference as the paper has it (its appendix; Algorithms 1 and 2), the misprints put right.

    q = prod_uk Gamma(x_uk | w_k + n_uk, rate_uk)  prod_ki Gamma(a_ki | shape_ki, rate_ki)

with point masses on s, v, alpha, c, l_k, d_u and mu_u. Rows are solved by coordinate ascent, no step of which
lowers the bound. The atoms follow natural gradients (at rho = 1 the exact maximiser), the locations gradients
preconditioned by the negative Hessian, and s, v, alpha and c gradients scaled by RMSProp.

With f_u = (d_u, mu_u), g_k = (l_k, 1) and F_uk = g_k . f_u, all that the bound says of F is

    h_uk(F) = -w_k log r(F) - E x_uk / r(F)
    h_uk'   = p (E x_uk / r - w_k)                                 p = r' / r
    -h_uk'' = p^2 (2 E x_uk / r - w_k) - q (E x_uk / r - w_k)      q = r'' / r

With r = exp, p = q = 1 and -h'' = E x / r > 0: the problems in f_u and in l_k are concave.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, expit, gammaln

from cormorant.backends.packing import pack_products, unpack
from cormorant.backends.select import Backend
from cormorant.inference.batch import Batch
from cormorant.inference.field import Design
from cormorant.inference.globals import WEIGHT_FLOOR, weights_of
from cormorant.inference.scheme import Variational
from cormorant.inference.state import Additive, Globals, Locals, RowPosterior, State
from cormorant.inference.structured import COLD, FINAL, WARM, Effort, Structured, View, evidence
from cormorant.models.cnpf import PoissonFactorization, link_function

STEP = 0.5  # eta_t <= STEP t^-1/2: what gradient steps follow where rho does not shrink, in a batch fit
MEMORY = 0.1  # tau of RMSProp: the share of the newest squared gradient in the running average
LOGIT_LIMIT = 18.0  # |logit v| at most this: for alpha < 1 the density of v has no mode short of v = 1
REACH = 1.0  # a location step moves F by at most this in a row whose |d| is the root mean square
LEAP = 5.0  # a field step moves no F by more than this
SLACK = 1e-13  # relative rounding that a field step may lose


@dataclass(frozen=True)
class Point:
    """Point masses at f_u for a block of rows, and the link at F = g . f."""

    f: np.ndarray  # rows x P
    log_r: np.ndarray  # rows x components
    p: np.ndarray | float  # r' / r
    q: np.ndarray | float  # r'' / r


@dataclass(frozen=True)
class PointProblem:
    """A block of rows' bound as a function of f, with q(x) held fixed: sum_k h_uk(g_k . f) + log p(f)."""

    design: Design
    link: str
    weights: np.ndarray
    backend: Backend

    def at(self, f: np.ndarray) -> Point:
        """Evaluate the link at F = g . f."""
        field = f @ self.design.loadings.T
        if self.link == "exp":
            return Point(f, field, 1.0, 1.0)
        r, sigma = link_function(self.link, field), expit(field)
        return Point(f, np.log(r), sigma / r, sigma * expit(-field) / r)

    def slope(self, at: Point, mean_x: np.ndarray) -> np.ndarray:
        """h'(F)."""
        return at.p * (mean_x * np.exp(-at.log_r) - self.weights)

    def precision(self, at: Point, mean_x: np.ndarray) -> np.ndarray:
        """-h''(F); with the softplus link, which is not concave, at least its mean w p^2 under p(x | F)."""
        ratio = mean_x * np.exp(-at.log_r)
        if self.link == "exp":
            return ratio
        fisher = self.weights * at.p**2
        return np.maximum(2 * at.p**2 * ratio - fisher - at.q * (ratio - self.weights), fisher)

    def objective(self, at: Point, mean_x: np.ndarray) -> np.ndarray:
        """Each row's sum_k h_uk(g_k . f) + log p(f), p(f) = N(0, Lambda_0^-1)."""
        h = -self.weights * at.log_r - mean_x * np.exp(-at.log_r)
        return h.sum(axis=1) + self.log_prior(at.f)

    def log_prior(self, f: np.ndarray) -> np.ndarray:
        """Each row's log p(f)."""
        prior = self.design.prior.precision
        return 0.5 * (np.log(prior / (2 * np.pi)) - prior * f**2).sum(axis=1)

    def gradient(self, at: Point, mean_x: np.ndarray) -> np.ndarray:
        """sum_k h'(F_uk) g_k - Lambda_0 f_u."""
        return self.slope(at, mean_x) @ self.design.loadings - self.design.prior.precision * at.f

    def step(self, at: Point, mean_x: np.ndarray, halvings: int = 8) -> Point:
        """f_u + (Lambda_0 + sum_k precision_uk g_k g_k^T)^-1 gradient_u, halved while the bound falls."""
        if self.design.prior.size == 0:
            return at
        precision = self.design.precision(self.precision(at, mean_x), self.backend)
        move, _ = self.backend.gaussian_moments(precision, self.gradient(at, mean_x))
        # Where E x / r is far below w, a Newton step can be too long for any number of halvings.
        move /= np.maximum(np.abs(move @ self.design.loadings.T).max(axis=1, keepdims=True) / LEAP, 1.0)
        before = self.objective(at, mean_x)
        least = before - SLACK * np.abs(before)
        for attempt in range(halvings + 1):
            new = self.at(at.f + move)
            worse = ~(self.objective(new, mean_x) >= least)
            if not worse.any():
                return new
            move[worse] *= 0.5 if attempt < halvings - 1 else 0.0  # at last such a row stays where it was
        return at


@dataclass(frozen=True)
class Solution:
    """A solved block of rows; q(x) = Gamma(shape, rate) is optimal given its allocation and f."""

    problem: PointProblem
    point: Point
    n: np.ndarray
    shape: np.ndarray  # w + n
    rate: np.ndarray  # 1 / r(F) + e_u A_k
    theta: np.ndarray  # proportional to exp(E log x)
    ratio: np.ndarray  # y / normaliser of each entry

    @property
    def mean_x(self) -> np.ndarray:
        """E x."""
        return self.shape / self.rate


@dataclass(frozen=True)
class Sums(Additive):
    """Sums over rows that the global step needs."""

    n_rows: float
    counts: np.ndarray  # columns x components: sum_u y_ui phi_uik
    exposure: np.ndarray  # sum_u e_u E x_uk; columns x components where entries are missing
    log_ratio: np.ndarray  # sum_u (E log x_uk - log r(F_uk))
    slope: np.ndarray  # components x D: sum_u h_uk' d_u
    precision: np.ndarray  # components x D (D + 1) / 2: sum_u -h_uk'' d_u d_u^T, packed
    spread: float  # sum_u |d_u|^2
    bound: float  # the rows' part of the bound


def log_gamma(x: float, shape: float, rate: float) -> float:
    """Log density of Gamma(shape, rate) at x."""
    return float(shape * np.log(rate) - gammaln(shape) + (shape - 1.0) * np.log(x) - rate * x)


def _rest(weights: np.ndarray) -> np.ndarray:
    """sum_{j >= k} w_j = s prod_{j<k} (1 - v_j): the first is s, and v_k = w_k / rest_k."""
    return np.cumsum(weights[::-1])[::-1]


def to_unconstrained(g: Globals) -> np.ndarray:
    """(s, v_1 .. v_{T-1}, alpha, c): inverse softplus of the positives, logit of the sticks (v_T = 1)."""
    rest = _rest(g.weights)
    s, alpha, c = (x + np.log(-np.expm1(-x)) for x in (rest[0], g.alpha, g.c))
    return np.concatenate([[s], np.log(g.weights[:-1] / rest[1:]), [alpha, c]])


def from_unconstrained(z: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Weights, alpha and c."""
    sticks = np.append(expit(np.clip(z[1:-2], -LOGIT_LIMIT, LOGIT_LIMIT)), 1.0)
    s, alpha, c = (float(np.logaddexp(0.0, x)) for x in z[[0, -2, -1]])
    return np.maximum(weights_of(s, sticks), WEIGHT_FLOOR), alpha, c


def top_gradient(g: Globals, sums: Sums) -> np.ndarray:
    """Gradient of the bound in the coordinates of ``to_unconstrained``, by the chain rule.

    With pull_k = w_k sum_u dw_uk and dw_uk = E log x_uk - log r(F_uk) - psi(w_k):

        d/ds     = (alpha - 1) / s - c + sum_k pull_k / s
        d/dv_k   = (1 - alpha) / (1 - v_k) + pull_k / v_k - sum_{j>k} pull_j / (1 - v_k)
        d/dalpha = log c - psi(alpha) + log s + sum_{k<T} [1 / alpha + log(1 - v_k)]
                   + (a_alpha - 1) / alpha - b_alpha
        d/dc     = alpha / c - s + (a_c - 1) / c - b_c

    The densities stay those of s, v, alpha and c, as in the paper: no Jacobian is added.
    """
    h, w, alpha, c = g.hyper, g.weights, g.alpha, g.c
    rest = _rest(w)
    s, v, left = rest[0], w[:-1] / rest[:-1], rest[1:] / rest[:-1]  # left = 1 - v, without cancellation
    pull = w * (sums.log_ratio - sums.n_rows * digamma(w))
    later = _rest(pull)[1:]
    by_s = (alpha - 1.0) / s - c + pull.sum() / s
    by_logit = (1.0 - alpha) * v + pull[:-1] * left - later * v
    by_alpha = np.log(c * s) - digamma(alpha) + (np.log(left) + 1.0 / alpha).sum()
    by_alpha += (h.a_alpha - 1.0) / alpha - h.b_alpha
    by_c = (alpha + h.a_c - 1.0) / c - s - h.b_c
    by_s, by_alpha, by_c = (d * -np.expm1(-x) for d, x in ((by_s, s), (by_alpha, alpha), (by_c, c)))
    return np.concatenate([[by_s], by_logit, [by_alpha, by_c]])


@dataclass(frozen=True)
class MeanField(Variational):
    """The paper's scheme for one model; hyper-parameters stay as given."""

    model: PoissonFactorization
    backend: Backend

    @property
    def allocation(self) -> str:
        """The optimum for phi."""
        return "digamma"

    @property
    def dtype(self) -> type:
        """Double precision: the bound is watched."""
        return np.float64

    @property
    def _sibling(self) -> Structured:
        """The scheme that allocates alike; its view of the globals serves this one too."""
        return Structured(self.model, self.backend, self.allocation)

    def view(self, g: Globals) -> View:
        """Everything that depends on the globals alone."""
        return self._sibling.view(g)

    def solve(self, view: View, batch: Batch, start: Locals | None, effort: Effort) -> Solution:
        """Coordinate ascent over one block of rows: f, the rate of q(x), then phi and the shape of q(x)."""
        weights = view.globals.weights
        problem = PointProblem(view.design, self.model.link, weights, self.backend)
        exposed = np.exp(view.log_rate(batch))

        def allocate(point: Point, n: np.ndarray, sweeps: int, zero_order: bool = False) -> Solution:
            rate = np.exp(-point.log_r) + exposed
            n, theta, ratio = self.backend.allocate(
                batch.indptr, batch.indices, batch.counts, view.padded, weights, -np.log(rate),
                n, sweeps, zero_order,
            )  # fmt: skip
            return Solution(problem, point, n, weights + n, rate, theta, ratio)

        if start is None:
            point = problem.at(np.zeros((batch.n_rows, view.design.prior.size)))
            # The digamma of a small weight would give every count to one component: begin with the weights.
            s = allocate(point, np.zeros((batch.n_rows, len(weights))), 1, zero_order=True)
        else:
            s = allocate(problem.at(start.mean), start.n, 1)
        for _ in range(effort.rounds):
            before = s.mean_x
            s = allocate(problem.step(s.point, before), s.n, effort.sweeps)
            if effort.tol and np.all(np.abs(s.mean_x - before).sum(1) <= effort.tol * s.mean_x.sum(1)):
                break
        return s

    def local_step(
        self, view: View, batch: Batch, start: Locals | None, want_bound: bool = False
    ) -> tuple[Locals, Sums]:
        """Solve a block of rows and sum what the global step needs of it."""
        s = self.solve(view, batch, start, COLD if start is None else WARM)
        sums = self._sums(view, batch, s, self._row_bound(view, batch, s) if want_bound else 0.0)
        return Locals(s.n, s.point.f, np.empty((batch.n_rows, 0))), sums

    def _sums(self, view: View, batch: Batch, s: Solution, bound: float) -> Sums:
        offsets, rows, order = batch.by_column
        d = s.point.f[:, : view.globals.locations.shape[1]]
        return Sums(
            n_rows=batch.n_rows,
            counts=self.backend.column_totals(offsets, rows, s.ratio[order], s.theta, view.padded),
            exposure=batch.exposed(s.mean_x),
            log_ratio=(digamma(s.shape) - np.log(s.rate) - s.point.log_r).sum(axis=0),
            slope=s.problem.slope(s.point, s.mean_x).T @ d,
            precision=s.problem.precision(s.point, s.mean_x).T @ pack_products(d),
            spread=float((d**2).sum()),
            bound=bound,
        )

    def _row_bound(self, view: View, batch: Batch, s: Solution) -> float:
        """E log p(y, x, f) - E log q(x, phi). With q(x) optimal, the part in x of each row and component is

        log Gamma(w + n) - log Gamma(w) - (w + n) log rate - w log r(F).
        """
        w = s.problem.weights
        x = gammaln(s.shape) - gammaln(w) - s.shape * np.log(s.rate) - w * s.point.log_r
        fit = evidence(batch, s.n, s.theta, s.ratio) + batch.counts @ view.log_top[batch.indices]
        return float(x.sum() + s.problem.log_prior(s.point.f).sum() + fit + batch.log_base)

    def global_step(self, state: State, new: Sums, rho: float) -> State:
        """Follow the preconditioned gradients, all taken at the old globals:

        shape, rate of a_ki <- (1 - rho) old + rho (prior + sums)              the natural gradient
        l_k                 <- l_k + eta H_k^-1 gradient_k                     H: minus the Hessian
        z = (s, v, alpha, c) <- z + eta gradient / sqrt(average square)        RMSProp, unconstrained

        with eta = min(rho, STEP t^-1/2). A batch fit's rho = 1 suits the atoms alone: RMSProp would circle
        the maximum, and locations fall to the saddle at zero before the rows have found their d_u.
        """
        g, h = state.globals, state.globals.hyper
        gradient = top_gradient(g, new)
        squares = gradient**2
        if isinstance(state.memory, np.ndarray) and state.memory.shape == squares.shape:
            squares = (1.0 - MEMORY) * state.memory + MEMORY * squares
        eta = min(rho, STEP * (1.0 + state.n_steps) ** -0.5)
        z = to_unconstrained(g) + eta * gradient / np.sqrt(squares + np.finfo(float).tiny)
        weights, alpha, c = from_unconstrained(z)
        shape = (1.0 - rho) * g.atom_shape + rho * (h.a0 + new.counts)
        rate = (1.0 - rho) * g.atom_rate + rho * (h.b0 + new.exposure)
        locations = g.locations + eta * self._location_step(g, new)
        return State(Globals(shape, rate, weights, locations, alpha, c, h), squares, state.n_steps + 1)

    def _location_step(self, g: Globals, new: Sums) -> np.ndarray:
        """H_k^-1 gradient_k, shortened to the trust region |step| <= REACH / root mean square of |d_u|.

        A search along the line would need the rows again. With the exp link the step raises the bound if no
        row's F falls by more than 1.79, where exp(t) - 1 - t = t^2: hence the region.
        """
        if not self.model.has_locations:
            return np.zeros_like(g.locations)
        size, sigma_l2 = g.locations.shape[1], g.hyper.sigma_l2
        gradient = new.slope - g.locations / sigma_l2
        precision = unpack(new.precision, size) + np.eye(size) / sigma_l2
        step = np.linalg.solve(precision, gradient[..., None])[..., 0]
        excess = np.linalg.norm(step, axis=1, keepdims=True) * np.sqrt(new.spread / new.n_rows) / REACH
        return step / np.maximum(excess, 1.0)

    def bound(self, g: Globals, statistics: Sums) -> float:
        """The evidence lower bound: the rows' part, log p of the point masses, and -KL(q(a) || p(a))."""
        h, rest = g.hyper, _rest(g.weights)
        shape, rate = g.atom_shape, np.broadcast_to(g.atom_rate, g.atom_shape.shape)
        divergence = (
            (shape - h.a0) * digamma(shape) - gammaln(shape) + gammaln(h.a0)
            + h.a0 * np.log(rate / h.b0) + shape * (h.b0 / rate - 1.0)
        )  # fmt: skip
        sticks = np.log(g.alpha) + (g.alpha - 1.0) * np.log(rest[1:] / rest[:-1])
        total = statistics.bound - divergence.sum() + sticks.sum()
        total += log_gamma(float(rest[0]), g.alpha, g.c)
        total += log_gamma(g.alpha, h.a_alpha, h.b_alpha) + log_gamma(g.c, h.a_c, h.b_c)
        if self.model.has_locations:
            total -= 0.5 * (g.locations**2 / h.sigma_l2 + np.log(2 * np.pi * h.sigma_l2)).sum()
        return float(total)

    def posterior(self, view: View, batch: Batch, want_variance: bool = False) -> RowPosterior:
        """E x (and Var x) of rows seen for the first time."""
        s = self.solve(view, batch, None, FINAL)
        return RowPosterior(s.mean_x, s.mean_x / s.rate if want_variance else None)

    def prior_mean(self, g: Globals, covariates: np.ndarray | None = None) -> np.ndarray:
        """E x of a row that shows nothing, up to a factor: w_k E r(F_k), with f averaged over its prior."""
        return self._sibling.prior_mean(g, covariates)
