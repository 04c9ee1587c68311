"""The scikit-learn contract, for every model."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from threadpoolctl import threadpool_info, threadpool_limits

from cormorant.datasets import simulate
from cormorant.estimators import CNPF, DILN, ESTIMATORS, HDP, HGP, TruncationWarning, factorization, load

MODELS = sorted(ESTIMATORS)


@pytest.fixture(scope="module")
def counts():
    return simulate("cnpf", n_rows=150, n_columns=40, n_components=4, seed=3).counts


def small(name="cnpf", **parameters):
    defaults = {"n_components": 6, "max_epochs": 6, "random_state": 0}
    if ESTIMATORS[name].model.has_locations:
        defaults["n_dims"] = 3
    return ESTIMATORS[name](**{**defaults, **parameters})


def quietly(fit, *arguments, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        return fit(*arguments, **parameters)


@pytest.mark.parametrize("name", MODELS)
def test_check_estimator(name):
    with warnings.catch_warnings():
        # Small data leave no component unused, and the checks that do not apply are reported as warnings.
        warnings.simplefilter("ignore")
        check_estimator(small(name, n_components=3, max_epochs=3, n_sweeps=4), on_skip=None)


@pytest.mark.parametrize(
    "name", [name if name in ("cnpf", "hdp") else pytest.param(name, marks=pytest.mark.slow) for name in MODELS]
)
def test_every_kind_of_input_gives_the_same_fit(name, counts):
    pd = pytest.importorskip("pandas")
    ad = pytest.importorskip("anndata")
    matrix = counts.tocsr(copy=True)
    frame = pd.DataFrame(matrix.toarray(), columns=[f"c{i}" for i in range(40)])
    reference = quietly(small(name).fit, counts)
    for X in (
        matrix,
        matrix.tocsc(),
        matrix.toarray(),
        matrix.astype(float),
        frame,
        ad.AnnData(matrix.astype(float)),
    ):
        other = quietly(small(name).fit, X)
        assert np.array_equal(other.components_, reference.components_), type(X)


def test_parameters_of_the_restrictions_are_only_those_they_use():
    assert "n_dims" in CNPF().get_params()
    assert "n_dims" not in HGP().get_params()
    assert "sigma_m2" not in HGP().get_params()
    assert "a_beta" not in CNPF().get_params()
    for name in ("b0", "sigma_m2"):
        assert name not in DILN().get_params()
    for name in ("n_dims", "top", "a_c"):
        assert name not in HDP().get_params()


def sparse_matrix(counts):
    return counts.tocsr(copy=True)


@pytest.mark.parametrize(
    "kind",
    [pytest.param(sparse_matrix, marks=pytest.mark.slow), lambda counts: counts],
    ids=["csr", "Counts"],
)
def test_clone_pipeline_and_grid_search(counts, kind):
    X = kind(counts)
    model = clone(small(n_components=4, n_sweeps=6))
    pipeline = make_pipeline(FunctionTransformer(), model, StandardScaler())
    assert quietly(pipeline.fit_transform, X).shape == (150, 4)
    assert pipeline.transform(X[:7]).shape == (7, 4)
    search = GridSearchCV(small(max_epochs=3, n_sweeps=6), {"n_components": [2, 4]}, cv=3)
    quietly(search.fit, X)
    by_hand = [
        quietly(small(max_epochs=3, n_sweeps=6, n_components=4).fit, X[train]).score(X[test])
        for train, test in KFold(3).split(np.empty(150))
    ]
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(np.mean(by_hand))
    assert np.array_equal(search.transform(X), search.best_estimator_.transform(X))


def test_cross_validation_inside_a_pipeline_with_counts(counts):
    y = np.arange(150) % 2
    pipeline = make_pipeline(small(max_epochs=2, n_components=3), LogisticRegression())
    assert len(quietly(cross_val_score, pipeline, counts, y, cv=3)) == 3
    train, test = train_test_split(counts, test_size=50, random_state=0)
    assert (train.n_rows, test.n_rows) == (100, 50)


def test_set_output_names_the_components(counts):
    frame = quietly(small().set_output(transform="pandas").fit_transform, counts.tocsr(copy=True))
    assert list(frame.columns) == [f"cnpf{k}" for k in range(6)]
    model = quietly(small().set_output(transform="pandas").fit, counts.tocsr(copy=True))
    assert list(model.transform(counts.tocsr(copy=True)).columns) == [f"cnpf{k}" for k in range(6)]


def test_fitted_models_copy_and_pickle(counts):
    model = quietly(small(n_jobs=2).fit, counts)
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(again.transform(counts), model.transform(counts))


def test_a_data_frame_must_have_the_columns_of_the_fit(counts):
    pd = pytest.importorskip("pandas")
    names = [f"w{i}" for i in range(40)]
    model = quietly(small().fit, counts.named(column_names=names))
    frame = pd.DataFrame(counts.tocsr().toarray(), columns=names[::-1])
    with pytest.raises(ValueError, match="another order"):
        model.transform(frame)


def test_unfitted_models_say_so(counts):
    for call in (lambda m: m.transform(counts), lambda m: m.perplexity(counts), lambda m: m.save("x")):
        with pytest.raises(NotFittedError):
            call(small())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components must be a whole number"),
        ({"n_components": 70_000}, "n_components must be at most 65,535"),
        ({"n_dims": 0}, "n_dims must be a whole number"),
        ({"inference": "magic"}, "inference must be 'auto' or one of structured, gibbs, mean-field"),
        ({"allocation": "first-order"}, "allocation must be one of zero-order, digamma"),
        ({"batch_size": -3}, "batch_size must be a whole number"),
        ({"stopping": "never"}, "stopping must be"),
        ({"stopping": "validation"}, "needs rows kept aside"),
        ({"validation": 5000}, "validation must be"),
        ({"a0": -1.0}, "a0 must be a positive number"),
        ({"sigma_l2": float("nan")}, "sigma_l2 must be a positive number"),
        ({"learning_decay": 0.2, "batch_size": 50}, "learning_decay must be in"),
        ({"n_jobs": 0}, "n_jobs must be a non-zero"),
        ({"tol": "x"}, "tol must be a number"),
        ({"sigma_m2": "x"}, "sigma_m2 must be a number"),
        ({"learning_offset": "x"}, "learning_offset must be a number"),
        ({"tol": -1.0}, "tol must be at least 0"),
        ({"tol": float("nan")}, "tol must be at least 0"),
        ({"validation": True}, "validation must be"),
        ({"callbacks": [3]}, "callbacks must be functions"),
        ({"callbacks": None}, "callbacks must be functions"),
        ({"callbacks": print}, "callbacks must be functions of \\(info, state\\), in a list"),
    ],
)
def test_wrong_parameters_name_themselves(counts, parameters, message):
    with pytest.raises(ValueError, match=message):
        small(**parameters).fit(counts)


def test_wrong_data_names_itself(counts):
    with pytest.raises(ValueError, match="Negative"):
        small().fit(-counts.tocsr(copy=True))
    model = quietly(small().fit, counts)
    with pytest.raises(ValueError, match="40"):
        model.transform(np.ones((2, 39)))
    with pytest.raises(ValueError, match="exposure must be 150 positive numbers"):
        small().fit(counts, exposure=np.ones(3))
    with pytest.raises(ValueError, match=r"of the shape of X, \(150, 40\); got shape \(3, 3\)"):
        small().fit(counts, mask=np.ones((3, 3)))
    with pytest.raises(ValueError, match="6 components"):
        model.inverse_transform(np.ones((2, 5)))


def test_columns_unknown_to_the_fit_are_an_error(counts):
    named = counts.named(column_names=[f"w{i}" for i in range(40)])
    model = quietly(small().fit, named)
    other = counts.named(column_names=[f"w{i}" for i in range(39)] + ["new"])
    with pytest.raises(ValueError, match=r"1 columns unknown to the fit \('new'\)"):
        model.transform(other)
    with pytest.raises(ValueError, match="another order"):
        model.transform(named.columns(np.arange(40)[::-1]))


def test_truncation_warning_names_the_remedy(counts):
    with pytest.warns(TruncationWarning, match="raise n_components"):
        small(n_components=2).fit(counts)


def test_warm_start_goes_on(counts):
    model = small(warm_start=True, max_epochs=3)
    quietly(model.fit, counts)
    first = model.components_
    quietly(model.fit, counts)
    cold = quietly(small(max_epochs=3).fit, counts)
    assert np.array_equal(cold.components_, first)
    assert not np.allclose(model.components_, first)
    model.set_params(sigma_l2=0.5)
    quietly(model.fit, counts)
    assert model.hyperparameters_["sigma_l2"] == 0.5
    model.set_params(n_dims=2)
    with pytest.raises(ValueError, match="n_dims = 3"):
        model.fit(counts)
    model.set_params(n_components=9, n_dims=3)
    with pytest.raises(ValueError, match="going on from an earlier fit"):
        model.fit(counts)


def test_partial_fit_adds_to_the_history_of_a_fit_and_keeps_its_names(counts):
    named = counts.named([f"r{u}" for u in range(150)], [f"w{i}" for i in range(40)])
    model = quietly(small(max_epochs=4).fit, named)
    history = model.history_
    model.partial_fit(counts.tocsr()[:30])
    assert model.history_[:-1] == history
    assert model.history_[-1]["stage"] == "partial_fit"
    assert model.column_names_[3] == "w3"
    assert model.row_names_ is None


def test_rows_kept_aside_to_stop_by_are_named(counts):
    model = quietly(small(validation=30, a0=0.1).fit, counts)
    assert len(model.validation_rows_) == 30
    assert model.n_rows_seen_ == 120
    # The posterior shapes hold the counts of the rows that were fitted, and no others.
    fitted = counts[np.setdiff1d(np.arange(150), model.validation_rows_)]
    assert np.sum(model.components_shape_ - 0.1) == pytest.approx(fitted.total, rel=1e-5)  # single precision
    assert len(quietly(small(validation=0).fit, counts).validation_rows_) == 0


@pytest.mark.parametrize("validation", [0, 30])
def test_an_interrupt_keeps_the_state_so_far(counts, validation):
    def interrupt(info, state):
        if info.epoch == 3:
            raise KeyboardInterrupt

    model = quietly(small(validation=validation, callbacks=[interrupt]).fit, counts)
    assert model.interrupted_
    assert model.n_epochs_ == 3
    assert "interrupted after 3 epochs" in model.stop_reason_
    assert model.transform(counts).shape == (150, 6)
    assert not quietly(small().fit, counts).interrupted_


def test_an_interrupt_while_the_allocation_of_new_rows_is_chosen_is_told(counts, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("cormorant.estimators.fitted.with_best_rows", interrupt)
    model = quietly(small(validation=30, inference="structured").fit, counts)
    assert model.interrupted_
    assert model.stop_reason_.startswith("interrupted while the allocation of new rows was chosen")
    assert model.row_allocation_ == "zero-order"
    assert model.transform(counts).shape == (150, 6)
    stopped = quietly(small(validation=30, inference="structured", callbacks=[interrupt]).fit, counts)
    assert stopped.stop_reason_.startswith("interrupted after 1 epoch")


def test_an_interrupt_after_the_last_epoch_leaves_a_whole_model(counts, monkeypatch, tmp_path):
    """Ctrl-C while the weights of the training rows are worked out."""

    def interrupt(*arguments):
        raise KeyboardInterrupt

    model = small(inference="structured")
    with monkeypatch.context() as patch:
        patch.setattr("cormorant.inference.predictive.infer", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.fit(counts)
    assert model.n_epochs_ == 6
    again = load(model.save(tmp_path / "fit"))
    assert np.array_equal(again.transform(counts), model.transform(counts))


def test_blas_leaves_the_cores_to_the_threads_of_a_step_and_of_its_start(counts, monkeypatch, tmp_path):
    """Each thread of ours that called a BLAS of many would have the machine do everything at once, and slower."""
    found = {}

    def watched(name, function):
        def call(*arguments, **options):
            found.setdefault(name, set()).update(
                library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
            )
            return function(*arguments, **options)

        return call

    monkeypatch.setattr(factorization, "start_globals", watched("start", factorization.start_globals))
    monkeypatch.setattr(CNPF, "_finish", watched("finish", CNPF._finish))
    model = small(inference="structured")
    with threadpool_limits(2, user_api="blas"):
        model.partial_fit(counts)
        assert found == {"start": {1}, "finish": {1}}
        load(model.save(tmp_path / "fit"))
    assert found["finish"] == {1}


def test_partial_fit_goes_on_from_a_fit_and_from_a_file(counts, tmp_path):
    """A few more rows move a fit a little; they do not replace what it had learned."""
    train, rest = counts.rows(slice(0, 120)), counts.rows(slice(120, 150))
    model = quietly(small(max_epochs=20).fit, train)
    before = model.score(rest)
    model.save(tmp_path / "fit")
    few = counts.rows(slice(0, 5))
    again = load(tmp_path / "fit").partial_fit(few)
    model.partial_fit(few)
    assert np.allclose(again.components_, model.components_)
    assert model.n_rows_seen_ == 125
    assert model.score(rest) > before - 0.05


@pytest.mark.parametrize(
    ("idle", "reads"),
    [
        ({"df": 3.0}, {"field": "student-t"}),
        ({"discount": 0.3}, {"tuples": "pitman-yor"}),
        ({"length_scale": 2.0}, {"kernel": "rbf"}),
        ({"n_frequencies": 8}, {"kernel": "matern"}),
        ({"nu": 2.5}, {"kernel": "matern"}),
        ({"top": "dirichlet", "a_c": 2.0}, {"top": "gamma"}),
        ({"top": "beta", "b_c": 2.0}, {"top": "pitman-yor"}),
        ({"top": "gamma", "a_beta": 2.0}, {"top": "dirichlet"}),
        ({"top": "pitman-yor", "b_beta": 2.0}, {"top": "beta"}),
        ({"tuples": "dirichlet", "a_c": 2.0}, {"tuples": "gamma"}),
        ({"tuples": "beta", "b_c": 2.0}, {"tuples": "pitman-yor"}),
    ],
)
def test_parameters_that_do_nothing_are_refused_by_fit(counts, idle, reads):
    """By `fit` alone: they can be set, cloned and, where they are the default, left."""
    model = clone((DILN(4, 2, random_state=0) if "top" in idle else small()).set_params(**idle))
    (other,) = reads
    (name,) = set(idle) - {other}
    with pytest.raises(ValueError, match=f"^{name}=.* does nothing with {other}=.*, only with {other}="):
        model.fit(counts)
    quietly(clone(model.set_params(**reads, inference="structured", max_epochs=1)).fit, counts)


def test_the_variance_of_coefficients_is_refused_without_covariates(counts):
    model = clone(small(inference="structured", max_epochs=1, sigma_g2=2.0))
    for fit in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=r"sigma_g2=2\.0 does nothing without covariates"):
            fit(counts)
    quietly(model.fit, counts, covariates=np.arange(float(counts.n_rows))[:, None])
