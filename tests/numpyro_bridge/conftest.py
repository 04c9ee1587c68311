"""Quick tests spend their time in XLA's compiler, so they ask for little of it; the slow ones for all."""

import pytest


@pytest.fixture(autouse=True)
def _compile_quickly(request):
    jax = pytest.importorskip("jax", reason="needs the extra numpyro")
    slow = request.node.get_closest_marker("slow") is not None
    jax.config.update("jax_disable_most_optimizations", not slow)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
