"""The scikit-learn contract of the thinned model."""

import warnings

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from cormorant.data import as_counts
from cormorant.datasets import simulate_thinned
from cormorant.estimators import ThinnedPoissonFactorization

pytestmark = pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")


class WithoutBeingTold(ThinnedPoissonFactorization):
    """scikit-learn's checks know nothing of covariates, so every row has the same; their numbers are rounded."""

    def _learn_encoding(self, covariates, counts, first):
        super()._learn_encoding(np.zeros((counts.n_rows, 1)), counts, first)

    def _theta(self, covariates, counts):
        return super()._theta(np.zeros((counts.n_rows, 1)), counts)

    def _to_rows(self, counts, *known):
        return super()._to_rows(as_counts(np.rint(counts.tocsr().toarray())), *known)


def test_check_estimator():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # checks that do not apply are reported as warnings
        check_estimator(WithoutBeingTold(3, n_sweeps=4, n_chains=1, random_state=0), on_skip=None)


def test_weights_and_names():
    drawn = simulate_thinned(80, 20, 3, 2, seed=1)
    model = ThinnedPoissonFactorization(3, n_sweeps=4, random_state=0)
    weights = model.fit_transform(drawn.counts, covariates=drawn.covariates)
    np.testing.assert_array_equal(weights, model.transform(drawn.counts, covariates=drawn.covariates))
    assert model.get_feature_names_out().tolist() == [f"thinnedpoissonfactorization{k}" for k in range(3)]
    np.testing.assert_allclose(model.inverse_transform(weights), weights @ model.components_)
