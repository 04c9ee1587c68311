"""CNPF, softplus-CNPF, scaled HGP and HGP: the public classes. The restrictions lack the parameters they do not use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cormorant.estimators.diln import DILN, HDP
from cormorant.estimators.factorization import Factorization
from cormorant.inference.fit import Callback
from cormorant.models.cnpf import MODELS


class CNPF(Factorization):
    """Correlated nonparametric Poisson factorisation: x_uk ~ Gamma(w_k, exp(-F_uk)), F_uk = l_k . d_u + mu_u.

    Args:
        n_components: Truncation T: the most components there can be. The data decide how many are in use.
        n_dims: Dimension D of the locations, which carry the correlations; with kernel="groups" the most groups there
            can be, with kernel="brownian" the number of steps.
        tuples: The process that the tuples (a_k, w_k, l_k) come from: "gamma" (the paper's), "pitman-yor" (keeps more
            small components), "dirichlet" (the w_k sum to one, and beta scales them) or "beta" (each w_k by itself,
            between 0 and 1, and beta scales them).
        discount: sigma of the Pitman-Yor process, v_k ~ Beta(1 - sigma, alpha + k sigma), from 0 (the gamma process) to
            below 1; the larger, the heavier the tail of small weights.
        kernel: What the locations mean, Cov(F_uk, F_um). "linear" (the paper's): l_k . l_m. "rbf", "matern": components
            whose locations are near go together, those far apart are independent. "brownian": min(tau_k, tau_m), F_uk
            being a Brownian motion of the row at tau_k > 0. "groups": F_uk is shared by the components of a group.
        length_scale: Of "rbf" and "matern", beside locations l ~ N(0, I_D); None: sqrt(D / 2).
        nu: Smoothness of "matern".
        n_frequencies: Frequencies of the Fourier features that stand for "rbf" and "matern"; the time grows with their
            square.
        inference: "gibbs" (the exact sampler), "structured" (variational, with x summed out), "mean-field" (the paper's
            algorithm), or "auto": the sampler, unless the counts are not whole numbers, something is asked for
            that only structured inference has (a batch size, a bound), or the rows kept aside are
            predicted as well by a structured fit as chains promise to after two of them (not asked where `n_chains`,
            `n_sweeps`, `n_samples` or covariates are given); predictions are then the mean of up to four such fits.
        allocation: How structured inference shares counts out: "zero-order" predicts better, "digamma" has a bound
            that never falls. (After a fit by zero-order new rows have whichever of the two predicts the rows kept
            aside better: `row_allocation_`.)
        batch_size: Rows a step visits: a number, None (all), or "auto" (all of up to 20,000, else 4,096).
        max_epochs: Most passes over the rows by variational inference (of the sampler: by the fit that it starts from).
        tol: Smallest relative improvement of what is watched that counts as one.
        patience: Checks without an improvement before the fit stops.
        stopping: "validation" (perplexity of rows kept aside), "bound", or "auto": validation if rows are kept aside.
        validation: Rows kept aside, to stop by and to choose by: a number, a fraction, or "auto" (5%, at most 1,000;
            none of fewer than 200 rows).
        n_chains: Chains of the sampler; predictions average over all. None: 8, and 16 where the first two are so far
            apart that these promise 1.5% less perplexity (not with covariates). Fewer, but at least 4 (or twice
            as many), where the work is more than 90 sweeps of 40 million rows x components.
        n_sweeps: Sweeps of each chain, of which the first third is dropped. None: 90;
            with covariates three times as many, up to twelve on small data, for the intervals of their effects. A sweep
            draws every count and then, by turns, the weights, or the rows' fields and the locations: two move all.
        n_samples: Posterior samples kept of each chain, evenly spaced over the rest of its sweeps.
        learning_offset: Step sizes of stochastic inference are (learning_offset + t)^-learning_decay;
            None takes the scheme's own.
        learning_decay: See learning_offset.
        a0: Shape of the gamma prior of the atoms; None: learned, for each column its own: `base_` (mean field: 0.01).
        b0: Rate of that prior; None: the scheme's own.
        sigma_l2: Prior variance of the locations; None: the scheme's own. With another kernel than the linear one, the
            variance of F_uk (at tau = 1, if it is Brownian); None: learned by structured inference, from whose fit the
            chains of the sampler have it.
        sigma_m2: Prior variance of a row's mean mu_u; None: learned by the sampler. Variational inference keeps 10, and
            so do predictions, since the rows that they are made for may be shown in part.
        sigma_g2: Prior variance of the coefficients of standardised covariates, in units of the variances of d and mu.
        formula: What to take of the data frame of covariates that `fit` is given, such as "~ bs(age, df=4) + C(sex)"
            (formulaic's grammar); None takes every column as it is.
        field: The process that d_u comes from: "gaussian", or "student-t", for rows that are unlike the others. With
            the exponential link the moments of x are then infinite; predictions are not, as they are of shares.
        df: Degrees of freedom nu of the Student-t: d_u ~ N(0, I / tau_u), tau_u ~ Gamma(nu / 2, nu / 2).
        a_alpha: Shape of the prior of alpha, the mass of the gamma process.
        b_alpha: Its rate.
        a_c: Shape of the prior of c, the rate of the gamma process.
        b_c: Its rate.
        warm_start: Whether a second `fit` goes on from the first.
        callbacks: Functions called with (info, state) after every epoch.
        random_state: Seed, for results that repeat.
        n_jobs: Threads, of `fit` and of whatever is asked of the fitted model: None is one, -1 every core that the
            process may use, -2 all but one. It may change at any time (`set_params`); the results do not depend on it.
        verbose: Whether to show a progress bar.

    Attributes:
        components_: E a, components x columns.
        components_shape_: Shapes of q(a), components x columns.
        components_rate_: Rates of q(a), one a component (components x columns where entries were missing).
        weights_: w, one a component, in falling order of the counts that the components hold.
        beta_: What scales the weights if tuples is "dirichlet" or "beta" (x_uk ~ Gamma(beta w_k, ..)); 1 otherwise.
        sticks_: v of w_k = s v_k prod_{j<k} (1 - v_j).
        total_: s.
        alpha_: Mass of the gamma process.
        c_: Rate of the gamma process.
        locations_: l, components x D (groups: unit vectors; brownian: tau in one column).
        loadings_: What multiplies a row's d in F_uk: l, or of another kernel sigma phi(l), components x features.
        frequencies_: Of "rbf" and "matern", n_frequencies x D; None otherwise.
        correlation_: rho_km = Cov(F_uk, F_um) scaled to a unit diagonal, given mu_u; with the linear kernel
            l_k . l_m / (|l_k| |l_m|). Where it was sampled: its mean over the samples of all chains that found both.
        usage_: Share of the counts that each component holds.
        n_components_used_: The fewest components that together hold 99% of the counts.
        hyperparameters_: The paper's numbers as the fit used them; a0 is the mean over the columns.
        base_: a0 of each column beside that mean: large for columns that most components have. Ones where a0 was given,
            with digamma allocation and, in Poisson models, with a mask.
        bound_: Last evidence lower bound; None where the allocation has none (zero-order) or it was not watched.
        history_: One dict an epoch (a sweep of a chain, a call of `partial_fit`): its stage (each fit that a chain
            starts from, each chain, and each of several structured fits count epochs and seconds anew), step size,
            bound, validation perplexity.
        n_epochs_: How many they are.
        inference_: The scheme that was used.
        row_allocation_: How structured inference shares the counts of rows out once it is fitted: "zero-order" or
            "digamma".
        samples_: Posterior samples, a list a chain; the components of later chains are matched to the first's. Empty
            unless sampled. Predictions and `correlation_` average over them; the other attributes above summarise the
            first chain (of several structured fits: they are the first's).
        diagnostics_: Effective sample size ("ess") and split R-hat ("rhat") of summaries that labels do not touch.
        traces_: Those summaries after every sweep of the last two thirds of a chain: a dict of lists a chain.
        correlation_interval_: 90% credible intervals around `correlation_` (2 x T x T), where it was sampled; too
            narrow while `diagnostics_` shows an R-hat above 1.1 or so: raise n_sweeps for them.
        covariate_names_: Columns that covariates were coded as, where `fit` was given any.
        covariate_effects_: What a unit of each adds to F_uk, components x covariates, relative to the mean over all
            components (`explore.tables.covariate_effects` has them with labels, and not relative).
        covariate_effects_interval_: Their 90% intervals (2 x T x covariates): from the samples, or a Gaussian
            approximation by structured inference, which is too narrow and whose effects are too small.
        stop_reason_: Why the fit ended, in a sentence.
        interrupted_: Whether that was Ctrl-C.
        validation_rows_: Positions in X of the rows kept aside to stop and choose by. Chains of the sampler from the
            third on (of each number of components) are fitted to them, too; nothing else is.
        held_out_rows_: Positions of rows that whoever called `fit` had held out and notes here (the command line does).
        n_rows_seen_: Rows that the components (of the first chain) were fitted to, each call of `partial_fit` counted.
        row_names_: Names of the rows of X, if they had any; None after `partial_fit`.
        column_names_: Names of the columns, if they had any.
    """

    model = MODELS["cnpf"]


class SoftplusCNPF(Factorization):
    """CNPF with the softplus link: x_uk ~ Gamma(w_k, 1 / log(1 + exp F_uk)). Parameters as for `CNPF`."""

    model = MODELS["softplus-cnpf"]


class ScaledHGP(Factorization):
    """Scaled hierarchical gamma process: x_uk ~ Gamma(w_k, exp(-mu_u)), CNPF without locations.

    Parameters and attributes as for `CNPF`, less those of the locations.
    """

    model = MODELS["scaled-hgp"]

    def __init__(
        self,
        n_components: int = 200,
        *,
        tuples: str = "gamma",
        discount: float = 0.5,
        inference: str = "auto",
        allocation: str = "zero-order",
        batch_size: int | str | None = "auto",
        max_epochs: int = 100,
        tol: float = 3e-4,
        patience: int = 3,
        stopping: str = "auto",
        validation: float | str = "auto",
        n_chains: int | None = None,
        n_sweeps: int | None = None,
        n_samples: int = 5,
        learning_offset: float | None = None,
        learning_decay: float | None = None,
        a0: float | None = None,
        b0: float | None = None,
        sigma_m2: float | None = None,
        a_alpha: float = 1.0,
        b_alpha: float = 0.01,
        a_c: float = 1.0,
        b_c: float = 0.01,
        warm_start: bool = False,
        callbacks: Sequence[Callback] = (),
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        given = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        super().__init__(**given)


class HGP(Factorization):
    """Hierarchical gamma process: x_uk ~ Gamma(w_k, 1), CNPF without locations and without row means.

    Parameters and attributes as for `CNPF`, less those of the locations and of the row means.
    """

    model = MODELS["hgp"]

    def __init__(
        self,
        n_components: int = 200,
        *,
        tuples: str = "gamma",
        discount: float = 0.5,
        inference: str = "auto",
        allocation: str = "zero-order",
        batch_size: int | str | None = "auto",
        max_epochs: int = 100,
        tol: float = 3e-4,
        patience: int = 3,
        stopping: str = "auto",
        validation: float | str = "auto",
        n_chains: int | None = None,
        n_sweeps: int | None = None,
        n_samples: int = 5,
        learning_offset: float | None = None,
        learning_decay: float | None = None,
        a0: float | None = None,
        b0: float | None = None,
        a_alpha: float = 1.0,
        b_alpha: float = 0.01,
        a_c: float = 1.0,
        b_c: float = 0.01,
        warm_start: bool = False,
        callbacks: Sequence[Callback] = (),
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        given = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        super().__init__(**given)


ESTIMATORS: dict[str, type[Factorization]] = {
    cls.model.name: cls for cls in (CNPF, SoftplusCNPF, ScaledHGP, HGP, DILN, HDP)
}
