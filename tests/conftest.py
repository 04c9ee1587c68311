"""What every test has in common."""

import pytest

from cormorant.estimators import parameters

pytest.register_assert_rewrite("contract_cases")


@pytest.fixture(autouse=True, scope="session")
def few_chains():
    """Two chains where a test takes the defaults: eight would do the same things four times as often."""
    patch = pytest.MonkeyPatch()
    patch.setattr(parameters, "MOST_CHAINS", parameters.FEWEST_CHAINS)
    patch.setattr(parameters, "SWEEPS_FOR_EFFECTS", (1, 1))
    yield
    patch.undo()
