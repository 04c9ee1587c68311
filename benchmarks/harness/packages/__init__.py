"""The packages that people would use instead, by the names they have in the table.

A package is imported when it is fitted, not before, so that the others can be compared where it is not installed.
"""

from .base import Effort, Peer, Setting
from .gensim_models import GensimHDP, GensimLDA
from .ours import CNPF, DILN, HDP, HGP, ScaledHGP, Unigram
from .poisson import HPFRec, PoisMF
from .scikit import ScikitLDA
from .tomotopy_models import TomotopyCTM, TomotopyHDP, TomotopyLDA

ALL: tuple[Peer, ...] = (
    CNPF(), ScaledHGP(), HGP(), DILN(), HDP(), TomotopyLDA(), TomotopyCTM(), TomotopyHDP(), ScikitLDA(), GensimLDA(),
    GensimHDP(), HPFRec(), PoisMF(), Unigram(),
)  # fmt: skip
PEERS = {peer.name: peer for peer in ALL}
OURS = CNPF.name  # beside which the others are seen

__all__ = ["OURS", "PEERS", "Effort", "Peer", "Setting"]
