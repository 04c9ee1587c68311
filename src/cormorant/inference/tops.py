"""The measure at the top, whose weights all rows share: a gamma, Pitman-Yor, Dirichlet or beta process, truncated.

The rows say of the weights, or of beta w_k where there is a beta, sum_k (tables_k log w_k - log_one_k w_k). Each top
gives the mode of that with its prior, a draw, and the log density of its prior, all in unconstrained coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import betainc, betaln, gammaln

from cormorant.inference import draws
from cormorant.inference import globals as update
from cormorant.inference.state import Globals


class Top(Protocol):
    """Everything that a prior of the weights must know."""

    def update(self, g: Globals, tables: np.ndarray, log_one: np.ndarray) -> Globals:
        """The mode over the weights and what governs them, each in turn."""
        ...

    def draw(self, g: Globals, tables: np.ndarray, log_one: np.ndarray, rng: np.random.Generator) -> Globals:
        """The same drawn, each given the others."""
        ...

    def power_of_last(self, g: Globals) -> float | None:
        """Of the last weight in the density of an order of the sticks (`draws.draw_order`); None: there is no order."""
        ...

    def log_prior(self, g: Globals) -> float:
        """Log density of the weights and of what governs them."""
        ...


def _log_gamma(value: float, shape: float, rate: float) -> float:
    """Log density of log value, where value ~ Gamma(shape, rate)."""
    return float(shape * np.log(rate * value) - gammaln(shape) - rate * value)


def _mode_on_log_scale(log_density: Callable[[float], float], value: float) -> float:
    """exp of the mode of a density on the line; the present value, where a search finds nothing better."""
    found = minimize_scalar(lambda z: -log_density(z), bounds=(-10.0, 10.0), method="bounded")
    best = float(found.x)  # pyright: ignore[reportAttributeAccessIssue]
    return math.exp(best) if log_density(best) > log_density(math.log(value)) else value


class GammaTop:
    """s ~ Gamma(alpha, c), v_k ~ Beta(1, alpha), w_k = s v_k prod_{j<k} (1 - v_j)."""

    def update(self, g: Globals, tables: np.ndarray, log_one: np.ndarray) -> Globals:
        """Weights, alpha and c."""
        h = g.hyper
        discount = self._discount(g)
        weights = update.update_weights(tables, log_one, g.weights, g.alpha, g.c, discount=discount)
        alpha = self._mode_of_alpha(g, weights)
        return replace(g, weights=weights, alpha=alpha, c=update.update_c(weights, alpha, h.a_c, h.b_c))

    def draw(self, g: Globals, tables: np.ndarray, log_one: np.ndarray, rng: np.random.Generator) -> Globals:
        """Weights, alpha and c."""
        h = g.hyper
        discount = self._discount(g)
        weights = draws.draw_weights(tables, log_one, g.weights, g.alpha, g.c, rng, discount=discount)
        alpha = self._draw_alpha(g, weights, rng)
        return replace(g, weights=weights, alpha=alpha, c=draws.draw_c(weights, alpha, h.a_c, h.b_c, rng))

    def power_of_last(self, g: Globals) -> float:
        """alpha + T sigma."""
        return g.alpha + g.n_components * self._discount(g)

    def log_prior(self, g: Globals) -> float:
        """Weights, alpha and c."""
        h = g.hyper
        of_weights = update.log_prior_weights(g.weights, g.alpha, g.c, discount=self._discount(g))
        return of_weights + _log_gamma(g.alpha, h.a_alpha, h.b_alpha) + _log_gamma(g.c, h.a_c, h.b_c)

    def _discount(self, g: Globals) -> float:
        """sigma of v_k ~ Beta(1 - sigma, alpha + k sigma)."""
        return 0.0

    def _mode_of_alpha(self, g: Globals, weights: np.ndarray) -> float:
        return update.update_alpha(weights, g.alpha, g.c, g.hyper.a_alpha, g.hyper.b_alpha)

    def _draw_alpha(self, g: Globals, weights: np.ndarray, rng: np.random.Generator) -> float:
        return draws.draw_alpha(weights, g.alpha, g.c, g.hyper.a_alpha, g.hyper.b_alpha, rng)


class PitmanYorTop(GammaTop):
    """s ~ Gamma(alpha, c), v_k ~ Beta(1 - sigma, alpha + k sigma): weights that fall off like k^(-1 / sigma).

    Those of a gamma process fall off exponentially, so this one keeps more small components. sigma = 0 is ``GammaTop``.
    """

    def _discount(self, g: Globals) -> float:
        return g.hyper.discount

    def _mode_of_alpha(self, g: Globals, weights: np.ndarray) -> float:
        return _mode_on_log_scale(self._density_of_alpha(g, weights), g.alpha)

    def _draw_alpha(self, g: Globals, weights: np.ndarray, rng: np.random.Generator) -> float:
        return math.exp(draws.draw_slice(self._density_of_alpha(g, weights), math.log(g.alpha), rng))

    def _density_of_alpha(self, g: Globals, weights: np.ndarray) -> Callable[[float], float]:
        """Log density of log alpha, which the total and every stick know of."""
        h = g.hyper

        def log_density(log_alpha: float) -> float:
            alpha = math.exp(log_alpha)
            of_weights = update.log_prior_weights(weights, alpha, g.c, discount=h.discount)
            return of_weights + h.a_alpha * log_alpha - h.b_alpha * alpha

        return log_density


class DirichletTop:
    """v_k ~ Beta(1, alpha), w_k = v_k prod_{j<k} (1 - v_j), times beta ~ Gamma(a_beta, b_beta).

    A Dirichlet process is a gamma process normalised, so this is ``GammaTop`` with beta in the place of its total s.
    """

    def update(self, g: Globals, tables: np.ndarray, log_one: np.ndarray) -> Globals:
        """beta w, then alpha."""
        h = g.hyper
        weights = update.update_weights(tables, log_one, g.weights, g.alpha, h.b_beta, h.a_beta)
        alpha = update.update_alpha_of_sticks(weights, h.a_alpha, h.b_alpha)
        return replace(g, weights=weights, alpha=alpha, beta=float(weights.sum()))

    def draw(self, g: Globals, tables: np.ndarray, log_one: np.ndarray, rng: np.random.Generator) -> Globals:
        """beta w, then alpha."""
        h = g.hyper
        weights = draws.draw_weights(tables, log_one, g.weights, g.alpha, h.b_beta, rng, h.a_beta)
        alpha = draws.draw_alpha_of_sticks(weights, h.a_alpha, h.b_alpha, rng)
        return replace(g, weights=weights, alpha=alpha, beta=float(weights.sum()))

    def power_of_last(self, g: Globals) -> float:
        """alpha."""
        return g.alpha

    def log_prior(self, g: Globals) -> float:
        """beta w and alpha."""
        h = g.hyper
        of_weights = update.log_prior_weights(g.weights, g.alpha, h.b_beta, h.a_beta)
        return of_weights + _log_gamma(g.alpha, h.a_alpha, h.b_alpha)


class BetaTop:
    """w_k ~ Beta(alpha / T, alpha), times beta ~ Gamma(a_beta, b_beta).

    As T grows this is the beta process alpha w^-1 (1 - w)^(alpha - 1) dw: of mass one, since beta scales the weights.
    """

    LEAST = 1e-12  # most weights of a beta process are smaller than any number that a computer holds
    ROUNDS = 50  # of the two closed forms for w and beta, which settle far sooner

    def update(self, g: Globals, tables: np.ndarray, log_one: np.ndarray) -> Globals:
        """w and beta in turn, each closed form, then alpha."""
        h, w, beta = g.hyper, self._weights(g), g.beta
        up, down = tables + g.alpha / len(w), g.alpha
        for _ in range(self.ROUNDS):
            loss = beta * log_one
            either = up + down + loss
            # The root within (0, 1) of the derivative in logit w of up log w + down log(1 - w) - loss w.
            w = 2.0 * up / (either + np.sqrt(either**2 - 4.0 * loss * up))
            before, beta = beta, float((h.a_beta + tables.sum()) / (h.b_beta + log_one @ w))
            if abs(beta - before) < 1e-12 * beta:
                break
        w = np.clip(w, self.LEAST, 1.0 - self.LEAST)
        return replace(g, weights=beta * w, beta=beta, alpha=self._mode_of_alpha(w, g.alpha, h.a_alpha, h.b_alpha))

    def draw(self, g: Globals, tables: np.ndarray, log_one: np.ndarray, rng: np.random.Generator) -> Globals:
        """beta, then every w, then alpha."""
        h, w = g.hyper, self._weights(g)
        beta = float(rng.gamma(h.a_beta + tables.sum()) / (h.b_beta + log_one @ w))
        prior = g.alpha / len(w)
        z = [
            draws.draw_stick(t + prior, g.alpha, beta * loss, float(v), rng)
            for t, loss, v in zip(tables, log_one, w, strict=True)
        ]
        w = np.clip(np.exp(-np.logaddexp(0.0, -np.array(z))), self.LEAST, 1.0 - self.LEAST)
        return replace(g, weights=beta * w, beta=beta, alpha=self._draw_alpha(w, g.alpha, h.a_alpha, h.b_alpha, rng))

    def power_of_last(self, g: Globals) -> float | None:
        """Weights are alike."""
        return None

    def log_prior(self, g: Globals) -> float:
        """beta, w and alpha."""
        h, w = g.hyper, self._weights(g)
        of_weights = self._log_density(w, g.alpha).sum() + np.log(w * (1.0 - w)).sum()
        return float(of_weights + _log_gamma(g.beta, h.a_beta, h.b_beta) + _log_gamma(g.alpha, h.a_alpha, h.b_alpha))

    def _weights(self, g: Globals) -> np.ndarray:
        return np.clip(g.weights / g.beta, self.LEAST, 1.0 - self.LEAST)

    def _log_density(self, w: np.ndarray, alpha: float) -> np.ndarray:
        p = alpha / len(w)
        return (p - 1.0) * np.log(w) + (alpha - 1.0) * np.log1p(-w) - betaln(p, alpha)

    def _mode_of_alpha(self, w: np.ndarray, alpha: float, a: float, b: float) -> float:
        """The mode over log alpha."""

        def log_density(log_alpha: float) -> float:
            value = math.exp(log_alpha)
            return float(self._log_density(w, value).sum() + a * log_alpha - b * value)

        return _mode_on_log_scale(log_density, alpha)

    def _draw_alpha(self, w: np.ndarray, alpha: float, a: float, b: float, rng: np.random.Generator) -> float:
        """A slice of log alpha. Of a weight at LEAST it is known only that it is no larger."""
        seen, n_components = w[w > self.LEAST], len(w)

        def log_density(log_alpha: float) -> float:
            value = math.exp(log_alpha)
            p = value / n_components
            below = math.log(max(float(betainc(p, value, self.LEAST)), 1e-300))
            shown = (
                (p - 1.0) * np.log(seen).sum() + (value - 1.0) * np.log1p(-seen).sum() - len(seen) * betaln(p, value)
            )
            return float(shown) + (n_components - len(seen)) * below + a * log_alpha - b * value

        return math.exp(draws.draw_slice(log_density, math.log(alpha), rng))


TOPS: dict[str, Top] = {
    "dirichlet": DirichletTop(),
    "gamma": GammaTop(),
    "beta": BetaTop(),
    "pitman-yor": PitmanYorTop(),
}
