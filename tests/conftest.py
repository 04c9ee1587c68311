"""What every test has in common."""

import pytest

from cormorant.backends import compiled
from cormorant.estimators import parameters

pytest.register_assert_rewrite("contract_cases")


@pytest.fixture(autouse=True, scope="session")
def few_chains():
    """Two chains, and fewer sweeps, where a test takes the defaults: more would do the same things more often."""
    patch = pytest.MonkeyPatch()
    patch.setattr(parameters, "FEWEST_CHAINS", 2)
    patch.setattr(parameters, "USUAL_CHAINS", 2)
    patch.setattr(parameters, "MOST_TIMES", 1)
    patch.setattr(parameters, "USUAL_SWEEPS", 60)
    patch.setattr(parameters, "SWEEPS_FOR_EFFECTS", (1, 1))
    yield
    patch.undo()


@pytest.fixture(autouse=True, scope="session")
def busy_threads():
    """Threads share what would not be worth it, so that small data tell whether their number changes anything."""
    patch = pytest.MonkeyPatch()
    patch.setattr(compiled, "LEAST", 1)
    patch.setattr(compiled, "PRODUCTS", 1)
    yield
    patch.undo()
