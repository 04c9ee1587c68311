"""Slow, explicit computations to compare the inference code with. Everything dense; tiny data only."""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace

import numpy as np
from scipy import stats
from scipy.special import digamma, gammaln, log_expit, logsumexp, roots_genlaguerre, xlogy

from cormorant.backends.packing import pack_indices
from cormorant.inference.field import FieldProblem
from cormorant.inference.structured import Solution


def gauss_grid(mean, covariance, n_nodes):
    """Nodes and weights for averages over N(mean, covariance), exact up to degree 2 n_nodes - 1."""
    size = len(mean)
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    factor = np.linalg.cholesky(covariance)
    grid = np.stack(np.meshgrid(*[nodes] * size, indexing="ij"), axis=-1).reshape(-1, size)
    weight = functools.reduce(np.multiply.outer, [weights / weights.sum()] * size).ravel()
    return mean + grid @ factor.T, weight


def average(function, mean, variance, n_nodes=20_001, width=12.0):
    """E function(F) for one F ~ N(mean, variance), by the trapezium rule over +-12 standard deviations."""
    if variance == 0:
        return function(np.array([mean]))[0]
    t = np.linspace(-width, width, n_nodes)
    density = np.exp(-0.5 * t**2)
    return (function(mean + np.sqrt(variance) * t) * density).sum() / density.sum()


def slope_of(function, x, step=1e-5):
    """Central difference."""
    return (function(x + step) - function(x - step)) / (2 * step)


def gradient_of(function, x, step=1e-5):
    """Central differences along every coordinate of a vector."""
    x = np.asarray(x, float)
    steps = step * np.eye(x.size).reshape(x.size, *x.shape)
    return np.array([(function(x + e) - function(x - e)) / (2 * step) for e in steps]).reshape(x.shape)


def loadings_and_prior(model, g):
    """g_k = (l_k, 1) and the prior variances of f, from the model's story; that of a flat prior is infinite."""
    parts, variances = [], []
    if model.has_locations:
        parts.append(g.locations)
        variances += [1.0] * g.locations.shape[1]
    if model.has_mean:
        parts.append(np.ones((g.n_components, 1)))
        variances.append(g.hyper.sigma_m2)
    if model.normalised:
        parts.append(np.ones((g.n_components, 1)))
        variances.append(np.inf)
    return np.hstack(parts) if parts else np.zeros((g.n_components, 0)), np.array(variances)


def seen_rates(g, y, exposure, missing):
    """e_u sum of E a_ki over the columns that row u looked at: rows x components."""
    looked = np.ones(y.shape) if missing is None else 1.0 - missing
    e = np.ones(len(y)) if exposure is None else exposure
    return e[:, None] * (looked @ (g.atom_shape / g.atom_rate))


def pack(full):
    """The distinct entries of symmetric matrices, as fields keep them."""
    p, q = pack_indices(full.shape[-1])
    return full[..., p, q]


def contact_points(model, g, y, mean, covariance, exposure=None, missing=None):
    """c_uk = sqrt(E eta_uk^2), where the Jaakkola-Jordan bound touches best."""
    loadings, _ = loadings_and_prior(model, g)
    eta = mean @ loadings.T + np.log(seen_rates(g, y, exposure, missing))
    return np.sqrt(eta**2 + np.einsum("kp,upq,kq->uk", loadings, covariance, loadings))


def dense_bound(model, g, y, phi, mean, covariance, exposure=None, missing=None, contact=None):
    """The evidence lower bound with every allocation written out (phi: rows x columns x components).

    q(f_u) is averaged over on a grid, exactly: with the bound that touches at
    ``contact`` the integrand is quadratic.
    """
    w = g.weights
    loadings, prior_variance = loadings_and_prior(model, g)
    rates = seen_rates(g, y, exposure, missing)
    if contact is None:
        contact = contact_points(model, g, y, mean, covariance, exposure, missing)
    n = np.einsum("ui,uik->uk", y, phi)
    log_a = digamma(g.atom_shape) - (digamma(g.atom_shape.sum(axis=0)) if model.normalised else np.log(g.atom_rate))
    total = (y[:, :, None] * (phi * log_a - xlogy(phi, phi))).sum() - gammaln(y + 1).sum()
    if exposure is not None:
        total += (y * np.log(exposure)[:, None]).sum()
    total += (gammaln(w + n) - gammaln(w)).sum()
    if model.normalised:
        total += np.log(y.sum(axis=1)).sum()
    proper = np.isfinite(prior_variance)
    for u in range(len(y)):
        field, weight = np.zeros((1, g.n_components)), np.ones(1)
        if len(prior_variance):
            f, weight = gauss_grid(mean[u], covariance[u], 3)
            prior = normal(f[:, proper], np.zeros(proper.sum()), np.diag(prior_variance[proper]))
            total += weight @ (prior - normal(f, mean[u], covariance[u]))
            field = f @ loadings.T
        eta, c = field + np.log(rates[u]), contact[u]
        touch = np.tanh(c / 2) / (4 * np.maximum(c, 1e-8))
        log_one = 0.5 * (eta - c) - log_expit(-c) + touch * (eta**2 - c**2)
        total += weight @ (n[u] * field - (w + n[u]) * log_one).sum(axis=1)
    return total + global_terms(model, g, g.hyper)


def normal(f, mean, covariance):
    """Log density at each row of f."""
    distance = ((f - mean) * np.linalg.solve(covariance, (f - mean).T).T).sum(axis=1)
    return -0.5 * (distance + np.linalg.slogdet(2 * np.pi * covariance)[1])


def global_terms(model, g, h):
    """Minus KL(q(a) || p(a)), and the log densities of the point masses in unconstrained coordinates."""
    if model.normalised:
        return normalised_global_terms(model, g, h)
    shape, rate = np.broadcast_arrays(g.atom_shape, g.atom_rate)
    divergence = (
        (shape - h.a0) * digamma(shape)
        - gammaln(shape)
        + gammaln(h.a0)
        + h.a0 * np.log(rate / h.b0)
        + shape * (h.b0 / rate - 1.0)
    )
    total = -divergence.sum()
    s = g.weights.sum()
    rest = s - np.concatenate([[0.0], np.cumsum(g.weights)[:-1]])
    v = (g.weights / rest)[:-1]
    sigma = h.discount if model.top == "pitman-yor" else 0.0
    total += (stats.beta.logpdf(v, 1 - sigma, g.alpha + sigma * np.arange(1, len(v) + 1)) + np.log(v * (1 - v))).sum()
    total += stats.gamma.logpdf(g.alpha, h.a_alpha, scale=1 / h.b_alpha) + np.log(g.alpha)
    if model.top == "dirichlet":  # beta in the place of s
        total += stats.gamma.logpdf(s, h.a_beta, scale=1 / h.b_beta) + np.log(s)
    else:
        total += stats.gamma.logpdf(s, g.alpha, scale=1 / g.c) + np.log(s)
        total += stats.gamma.logpdf(g.c, h.a_c, scale=1 / h.b_c) + np.log(g.c)
    if model.has_locations:
        total += stats.norm(0, np.sqrt(h.sigma_l2)).logpdf(g.locations).sum()
    return float(total)


def normalised_global_terms(model, g, h):
    """The same with q(a_k) = Dirichlet(shape), beta in the place of s, and the top's own weights."""
    total = sum(
        stats.dirichlet(shape).entropy() + ((h.a0 - 1) * (digamma(shape) - digamma(shape.sum()))).sum()
        for shape in g.atom_shape.T
    )
    total += g.n_components * (gammaln(len(g.atom_shape) * h.a0) - len(g.atom_shape) * gammaln(h.a0))
    w = g.weights / g.beta
    rest = w.sum() - np.concatenate([[0.0], np.cumsum(w)[:-1]])
    v = (w / rest)[:-1]
    if model.top == "beta":
        total += (stats.beta.logpdf(w, g.alpha / len(w), g.alpha) + np.log(w) + np.log1p(-w)).sum()
    else:
        sigma = h.discount if model.top == "pitman-yor" else 0.0
        shapes = 1 - sigma, g.alpha + sigma * np.arange(1, len(v) + 1)
        total += (stats.beta.logpdf(v, *shapes) + np.log(v) + np.log1p(-v)).sum()
    if model.top in ("gamma", "pitman-yor"):
        total += stats.gamma.logpdf(w.sum(), g.alpha, scale=1 / g.c) + np.log(w.sum())
        total += stats.gamma.logpdf(g.c, h.a_c, scale=1 / h.b_c) + np.log(g.c)
    else:
        total += stats.gamma.logpdf(g.beta, h.a_beta, scale=1 / h.b_beta) + np.log(g.beta)
    total += stats.gamma.logpdf(g.alpha, h.a_alpha, scale=1 / h.b_alpha) + np.log(g.alpha)
    if model.has_locations:
        total += stats.norm(0, np.sqrt(h.sigma_l2)).logpdf(g.locations).sum()
    return float(total)


def allocations(solution, view, batch):
    """phi of every entry (rows x columns x components), zero where there is no count."""
    phi = np.zeros((batch.n_rows, batch.n_columns, len(view.globals.weights)))
    for u in range(batch.n_rows):
        for i in batch.indices[batch.indptr[u] : batch.indptr[u + 1]]:
            share = solution.theta[u].astype(float) * view.atoms[i]
            phi[u, i] = share / share.sum()
    return phi


def held_statistics(scheme, g, batch, solution, phi):
    """Statistics at other globals with q(f) and the allocations held where ``solution`` left them."""
    view = scheme.view(g)
    design = view.design.given(batch.covariates, g.coefficients)
    problem = FieldProblem(design, scheme.link, g.weights, view.log_rate(batch), scheme.backend)
    field = problem.at(solution.field.mean, solution.field.covariance)
    n = solution.n
    held = Solution(problem, field, n, solution.theta, solution.ratio)
    counts = np.zeros(g.atom_shape.shape)
    for u in range(batch.n_rows):
        entries = slice(batch.indptr[u], batch.indptr[u + 1])
        counts[batch.indices[entries]] += batch.counts[entries, None] * phi[u, batch.indices[entries]]
    return replace(scheme._statistics(view, batch, held, 0.0), counts=counts)


def log_evidence_of_one_row(model, g, y, n_nodes=40):
    """log p(y | w, l) of a single row, by summing over every way to share its counts out.

    x is summed out in closed form; a_k = A_k times a Dirichlet draw, and A_k ~ Gamma(I a0, b0) is averaged by
    Gauss-Laguerre, f by Gauss-Hermite.
    """
    h, n_columns = g.hyper, len(y)
    loadings, variances = loadings_and_prior(model, g)
    f, weight = (
        gauss_grid(np.zeros(len(variances)), np.diag(variances), n_nodes)
        if len(variances)
        else (np.zeros((1, 0)), np.ones(1))
    )
    field = f @ loadings.T
    nodes, node_weights = roots_genlaguerre(60, n_columns * h.a0 - 1)
    log_a, log_node = np.log(nodes / h.b0), np.log(node_weights) - gammaln(n_columns * h.a0)

    def component(z, k):
        total = z.sum()
        dirichlet = gammaln(n_columns * h.a0) - gammaln(n_columns * h.a0 + total)
        dirichlet += (gammaln(h.a0 + z) - gammaln(h.a0) - gammaln(z + 1)).sum()
        eta = field[:, [k]] + log_a
        by_total = log_node + total * eta - (g.weights[k] + total) * np.logaddexp(0, eta)
        return dirichlet + gammaln(g.weights[k] + total) - gammaln(g.weights[k]) + logsumexp(by_total, axis=1)

    ways = [_compositions(int(count), g.n_components) for count in y]
    terms = [
        sum(component(np.array([way[k] for way in choice]), k) for k in range(g.n_components))
        for choice in itertools.product(*ways)
    ]
    return float(logsumexp(logsumexp(terms, axis=0) + np.log(weight)))


def log_evidence_of_one_normalised_row(g, y, n_nodes=40):
    """log p(y | N, w, l) of a single row, by summing over every way to share its counts out.

    E prod_k pi_k^n_k given d is the freed normaliser's integral over mu, on a fine grid; d by Gauss-Hermite.
    """
    h, n_columns, total, size = g.hyper, len(y), int(np.sum(y)), g.locations.shape[1]
    d, weight = gauss_grid(np.zeros(size), np.eye(size), n_nodes) if size else (np.zeros((1, 0)), np.ones(1))
    field = d @ g.locations.T
    mu = np.linspace(-60.0, 60.0 / min(g.weights.sum(), 1.0), 20_001)

    def proportions(n):
        of_mu = total * mu[:, None] - np.stack(
            [(g.weights + n) @ np.logaddexp(0, mu + f[:, None]) + 0 * mu for f in field], axis=1
        )
        integral = logsumexp(of_mu, axis=0) + np.log(mu[1] - mu[0]) - gammaln(total)
        return integral + field @ n + (gammaln(g.weights + n) - gammaln(g.weights)).sum()

    def atoms(z):
        a = gammaln(n_columns * h.a0) - gammaln(n_columns * h.a0 + z.sum(axis=0))
        return a.sum() + (gammaln(h.a0 + z) - gammaln(h.a0) - gammaln(z + 1)).sum()

    ways = [_compositions(int(count), g.n_components) for count in y]
    terms = []
    for choice in itertools.product(*ways):
        z = np.array(choice, float)
        terms.append(gammaln(total + 1) + atoms(z) + proportions(z.sum(axis=0)))
    return float(logsumexp(logsumexp(terms, axis=0) + np.log(weight)))


def _compositions(count, parts):
    """Every way to write ``count`` as an ordered sum of ``parts`` whole numbers."""
    if parts == 1:
        return [(count,)]
    return [(first, *rest) for first in range(count + 1) for rest in _compositions(count - first, parts - 1)]
