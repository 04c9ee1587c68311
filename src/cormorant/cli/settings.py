"""The options of a fit as an unfitted estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cormorant.cli.options import batch_size


@dataclass(frozen=True)
class FitSettings:
    """What the command line says about a fit; None leaves it to the library."""

    components: int | None
    dims: int | None
    inference: str
    allocation: str
    batch: str
    max_epochs: int
    seed: int
    jobs: int

    def estimator(self, model: str, callbacks: Sequence[Any] = ()) -> Any:
        """The unfitted estimator of a model; a parameter that the model lacks is left out."""
        from cormorant.estimators import ESTIMATORS
        from cormorant.models.cnpf import get_model

        cls = ESTIMATORS[get_model(model).name]
        parameters = {
            "n_components": self.components,
            "n_dims": self.dims if cls.model.has_locations else None,
            "inference": self.inference,
            "allocation": self.allocation,
            "max_epochs": self.max_epochs,
            "random_state": self.seed,
            "n_jobs": self.jobs,
        }
        given = {name: value for name, value in parameters.items() if value is not None}
        return cls(**given, batch_size=batch_size(self.batch), callbacks=tuple(callbacks))
