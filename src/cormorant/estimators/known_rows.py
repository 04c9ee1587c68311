"""What estimators know of rows beside their counts: covariates, coded as in the fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cormorant.data import Counts
from cormorant.estimators.covariates import Encoding
from cormorant.estimators.parameters import default_of


class CovariatesMixin:
    """The encoding that a fit learns, and the theta of rows by it."""

    if TYPE_CHECKING:
        model: ClassVar[Any]
        formula: str | None
        sigma_g2: float

    _encoding: Encoding | None = None  # of the covariates of the rows, where they have any

    def _learn_encoding(self, covariates: Any, counts: Counts, first: bool, more_to_come: bool = False) -> None:
        """Remember how covariates are coded; a fit that goes on codes them as it began to."""
        if not first:
            return
        if covariates is not None and not self.model.takes_covariates:
            raise ValueError(
                f"covariates move components through their locations, and {type(self).__name__} has none; "
                "fit CNPF, SoftplusCNPF, DILN or ThinnedPoissonFactorization."
            )
        if covariates is None and self.model.needs_covariates:
            raise ValueError(
                f"covariates must be given: {type(self).__name__} has them decide which components a row has. "
                "CNPF can do without."
            )
        if covariates is None and self.formula is not None:
            raise ValueError(f"formula = {self.formula!r} needs covariates, a data frame with the columns it names.")
        if covariates is None and self.model.takes_covariates and self.sigma_g2 != default_of(self, "sigma_g2"):
            raise ValueError(
                f"sigma_g2={self.sigma_g2!r} does nothing without covariates, of whose coefficients it is the "
                "variance; leave it out, or give covariates."
            )
        self._encoding = None
        if covariates is not None:
            rows = counts.n_rows, counts.row_names
            self._encoding = Encoding.learn(covariates, self.formula, *rows, more_to_come=more_to_come)[0]

    def _theta(self, covariates: Any, counts: Counts) -> np.ndarray | None:
        """Covariates coded as in the fit, whose rows had some or had none."""
        if covariates is None and self._encoding is not None:
            raise ValueError(
                f"covariates must be given: the model was fitted with {', '.join(self._encoding.names[:5])}."
            )
        if covariates is not None and self._encoding is None:
            raise ValueError("covariates must be left out: the model was fitted without any.")
        return None if self._encoding is None else self._encoding.encode(covariates, counts.n_rows, counts.row_names)

    def _per_unit(self, effects: np.ndarray) -> np.ndarray:
        """Effects of the covariates as they were given, not as they were scaled."""
        assert self._encoding is not None  # its callers look
        return effects / np.array(self._encoding.scale)
