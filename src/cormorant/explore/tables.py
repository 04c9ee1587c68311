"""Everything that exploration says in tables, under one name; each returns a data frame."""

from cormorant.explore.coherence import coherence
from cormorant.explore.components import component_columns, components, prevalence, representative_rows
from cormorant.explore.correlations import correlated_pairs, correlations
from cormorant.explore.effects import covariate_effects
from cormorant.explore.rows import next_columns, row_profile, similar_rows

__all__ = [
    "coherence",
    "component_columns",
    "components",
    "correlated_pairs",
    "correlations",
    "covariate_effects",
    "next_columns",
    "prevalence",
    "representative_rows",
    "row_profile",
    "similar_rows",
]
