"""The proof of a report by ranking functions and invariants."""

from __future__ import annotations

from venmas import Report
from venmas.procedures.ranking.proof import RankingProof


def proved(report: Report) -> RankingProof:
    """Fails where the verdict rests on anything else."""
    assert report.satisfied and report.proved is not None, report.message
    proof = report.proved.proof
    assert isinstance(proof, RankingProof), proof
    return proof
