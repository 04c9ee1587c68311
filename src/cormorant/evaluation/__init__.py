"""How well fitted models predict: the paper's perplexity, ranking metrics, several models on one split."""

from cormorant.evaluation.comparison import Comparison, compare
from cormorant.evaluation.perplexity import perplexity
from cormorant.evaluation.ranking import ranking_metrics

__all__ = ["Comparison", "compare", "perplexity", "ranking_metrics"]
