"""What a start goes through before the fit itself: a surplus of components is merged, a kernel's locations are found.

Under a kernel that is not linear locations see little of each other from afar, and what a group shares is hard to see
while its members are scattered. So the fit begins with the linear kernel, whose locations are solved for exactly, and
the kernel's own are then placed by the covariance of F that it finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cormorant.inference.fit import Callback, Outcome, Settings, run
from cormorant.inference.regression import with_effects
from cormorant.inference.rows import RowMemory, Rows
from cormorant.inference.schedules import Plan
from cormorant.inference.scheme import Scheme
from cormorant.inference.start import merge_components
from cormorant.inference.state import Globals, State
from cormorant.inference.structured import Structured
from cormorant.models.cnpf import PoissonFactorization
from cormorant.models.kernels import Kernel, Linear

SURPLUS_EPOCHS = 3  # of a start with a surplus of components, before they are merged
MEAN_FIELD_SURPLUS_EPOCHS = 10  # its components part more slowly: merged after three, planted ones are lost
LINEAR_EPOCHS = 40  # with the linear kernel, before another takes over
LINEAR_DIMS, LINEAR_VARIANCE = 25, 0.04  # n_dims and sigma_l2 meanwhile


def linear_model(model: PoissonFactorization) -> PoissonFactorization:
    """The same with the linear kernel, to begin with."""
    return replace(model, kernel=Linear())


def start_dims(model: PoissonFactorization, begins_as: PoissonFactorization, n_dims: int) -> int:
    """Dimensions of the locations that a fit begins with: enough for any covariance, if another kernel takes over."""
    return n_dims if model.kernel.is_linear or not begins_as.kernel.is_linear else LINEAR_DIMS


def prepare(
    scheme: Scheme,
    state: State,
    n_components: int,
    rows: Rows,
    plan: Plan,
    settings: Settings,
    rng: np.random.Generator,
    callbacks: Sequence[Callback],
) -> Outcome:
    """The state from which the fit begins, or where the user interrupted."""
    kernel, few = scheme.model.kernel, replace(settings, watch="nothing")
    if kernel.is_linear or state.n_steps > 0 or state.memory is not None:  # the last two: it goes on from a fit
        return _merged(scheme, state, n_components, rows, plan, few, rng, callbacks)
    assert isinstance(scheme, Structured)  # mean field is refused, and chains start from structured fits
    linear = replace(scheme, model=linear_model(scheme.model), learn=scheme.learn - {"sigma_l2"})
    begin = State(_with_variance(state.globals, LINEAR_VARIANCE))
    outcome = _merged(linear, begin, n_components, rows, plan, few, rng, callbacks)
    if not outcome.interrupted:
        few = replace(few, max_epochs=LINEAR_EPOCHS)
        outcome = run(linear, outcome.state, rows, plan, few, rng, callbacks=callbacks, stage="linear kernel")
    return replace(outcome, state=State(_placed(kernel, outcome.state.globals, state.globals.hyper.sigma_l2)))


def _merged(
    scheme: Scheme,
    state: State,
    n_components: int,
    rows: Rows,
    plan: Plan,
    settings: Settings,
    rng: np.random.Generator,
    callbacks: Sequence[Callback],
) -> Outcome:
    """The state as it is, or one with a surplus of components after a few epochs, the most alike merged."""
    if state.globals.n_components <= n_components:
        return Outcome(state, (), "", RowMemory(rows.n_rows))
    epochs = SURPLUS_EPOCHS if isinstance(scheme, Structured) else MEAN_FIELD_SURPLUS_EPOCHS
    few = replace(settings, max_epochs=epochs)
    outcome = run(scheme, state, rows, plan, few, rng, callbacks=callbacks, stage="surplus components")
    return replace(outcome, state=State(merge_components(scheme.model, outcome.state.globals, n_components)))


def _with_variance(g: Globals, sigma_l2: float) -> Globals:
    return replace(g, hyper=replace(g.hyper, sigma_l2=sigma_l2))


def _placed(kernel: Kernel, g: Globals, sigma_l2: float) -> Globals:
    """The same globals with locations of the kernel, where they say much the same of F."""
    locations, gamma = kernel.place(g.locations @ g.locations.T), g.coefficients
    if gamma.size:
        size, features = g.locations.shape[1], kernel.features(locations, sigma_l2)
        gamma = with_effects(features, g.locations @ gamma[:size], gamma[size:])
    return replace(_with_variance(g, sigma_l2), locations=locations, coefficients=gamma)
