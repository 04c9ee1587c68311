"""What is wrong with the options of a fit is told before any data are read."""

import pytest

from cormorant.cli.settings import check_settings, make_estimator
from cormorant.estimators.registry import ALL


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "lda"], "--model must be one of cnpf, "),
        (["--inference", "magic"], "--inference must be auto or one of structured, gibbs, mean-field; got 'magic'."),
        (["--allocation", "magic"], "--allocation must be"),
        (["--stopping", "never"], "--stopping must be auto, validation or bound; got 'never'."),
        (["--stopping", "validation", "--validation", "0"], "--stopping validation needs rows kept aside"),
        (["--validation", "most"], "--validation must be"),
        (["--batch-size", "0"], "--batch-size must be"),
        (["--tol", "-1"], "--tol must be"),
        (["--a0", "-1"], "--a0 must be a positive number"),
        (["--learning-decay", "7"], "--learning-decay"),
        (["--jobs", "0"], "--jobs must be"),
        (["--sweeps", "0"], "--sweeps"),
        (["--model", "hgp", "--dims", "3"], "--dims does nothing here: hgp has none"),
        (["--likelihood", "poisson"], "--likelihood does nothing here: "),
        (["--df", "3"], "--df 3.0 does nothing with --field gaussian, only with --field student-t; leave it out."),
        (["--field", "magic", "--df", "3"], "--field must be one of gaussian, student-t"),
        (["--discount", "0.3"], "--discount 0.3 does nothing with --tuples gamma, only with --tuples pitman-yor"),
        (["--model", "diln", "--discount", "0.3"], "--discount 0.3 does nothing with --top dirichlet, only with --top"),
        (
            ["--length-scale", "3"],
            "--length-scale 3.0 does nothing with --kernel linear, only with --kernel rbf or --k",
        ),
        (["--frequencies", "9"], "--frequencies 9 does nothing with --kernel linear, only with --kernel rbf or"),
        (["--kernel", "rbf", "--nu", "3"], "--nu 3.0 does nothing with --kernel rbf, only with --kernel matern"),
        (["--model", "diln", "--top", "flat"], "--top must be one of dirichlet"),
        (
            ["--model", "diln", "--inference", "mean-field"],
            "--inference mean-field is the paper's algorithm for Poisson factorisation, and DILN is normalised; "
            "use --inference structured or gibbs.",
        ),
        (["--kernel", "rbf", "--nu", "-3"], "--nu -3.0 does nothing with --kernel rbf, only with --kernel matern"),
        (["--inference", "structured", "--sweeps", "9"], "--sweeps is for the sampler"),
        (["--batch-size", "100", "--samples", "9"], "--samples is for the sampler"),
        (
            ["--model", "ibp", "--inference", "structured", "--chains", "2"],
            "--chains 2 does nothing with --inference structured, only with --inference gibbs; leave it out.",
        ),
        (["--model", "ibp", "--likelihood", "magic"], "--likelihood must be one of gaussian"),
        (["--model", "ibp", "--likelihood", "poisson", "--inference", "structured"], "--likelihood poisson is sampled"),
        (["--model", "ibp", "--mass", "0"], "--mass must be positive, or left out to be learned; got 0.0."),
        (
            ["--model", "ibp", "--likelihood", "poisson", "--atom-variance", "2"],
            "--atom-variance is for real and binary data; the atoms of counts are gamma variables whose rate is "
            "learned. Got --atom-variance 2.0 with --likelihood poisson; leave it out.",
        ),
        (["--model", "ibp", "--jobs", "0"], "--jobs must be"),
    ],
)
@pytest.mark.parametrize("verb", ["fit", "compare"])
def test_settings_come_before_the_data(cormorant, workplace, verb, options, said):
    where = ["--out", "fit"] if verb == "fit" else ["--holdout", 5]
    if verb == "compare" and options[0] == "--model":
        options = ["--models", *options[1:]]
        # Which models it takes is told before their settings.
        said = {"lda": "--models must be some of cnpf, "}.get(options[1], said)
    ran = cormorant(verb, "there-is-no-such-file.npz", *where, *options)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {said}") or f"'{said}'" in ran.err
    assert len(ran.err.splitlines()) == 1
    assert list(workplace.iterdir()) == []


@pytest.mark.parametrize("model", ALL)
def test_defaults_are_right(model):
    check_settings([model], {}, seed=0)


def test_what_one_of_several_models_reads_is_taken():
    given = {"tuples": "pitman-yor", "discount": 0.3}
    check_settings(["cnpf", "diln"], given, seed=0)
    assert make_estimator("cnpf", given, 0).discount == 0.3
    assert make_estimator("diln", given, 0).discount == 0.5  # its own process is another


@pytest.mark.parametrize("verb", ["evaluate", "components", "export", "explore", "simulate"])
def test_the_other_verbs_too(cormorant, workplace, verb):
    options = {
        "evaluate": (["no-fit", "no-file", "--observed", "2"], "--observed must be"),
        "components": (["no-fit", "--by", "name"], "--by must be one of mean, lift, frex, divergence; got 'name'"),
        "export": (["no-fit", "--format", "pdf"], "--format must be"),
        "explore": (["no-fit", "--port", "80"], "--port is for --serve"),
        "simulate": (["--model", "lda", "--out", "drawn"], "--model must be one of cnpf, "),
    }
    arguments, said = options[verb]
    ran = cormorant(verb, *arguments)
    assert ran.code == 2
    assert ran.err.startswith(f"error: {said}")
    assert list(workplace.iterdir()) == []
