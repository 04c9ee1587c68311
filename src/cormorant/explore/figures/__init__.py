"""Drawings of the tables, for papers.

Every function takes the axes to draw on (`ax`), or makes a figure of its own, and returns the axes.
"""

from cormorant.explore.figures.checks import predictive_check, predictive_checks
from cormorant.explore.figures.comparison import model_comparison
from cormorant.explore.figures.components import component_panels
from cormorant.explore.figures.convergence import convergence
from cormorant.explore.figures.effects import covariate_effects
from cormorant.explore.figures.graph import correlation_graph
from cormorant.explore.figures.heatmap import correlation_heatmap
from cormorant.explore.figures.images import component_images
from cormorant.explore.figures.weights import sorted_weights

__all__ = [
    "component_images",
    "component_panels",
    "convergence",
    "correlation_graph",
    "correlation_heatmap",
    "covariate_effects",
    "model_comparison",
    "predictive_check",
    "predictive_checks",
    "sorted_weights",
]
