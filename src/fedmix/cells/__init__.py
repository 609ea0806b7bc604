"""The audit: printed numbers, claims and discrepancies, put to our results."""

from fedmix.cells.audit import audit_cells, counts, summarise_variants
from fedmix.cells.claims import CLAIM_VERDICTS, evaluate_claims, read_claims
from fedmix.cells.discrepancies import measure_discrepancies, read_discrepancies
from fedmix.cells.matching import unmatched
from fedmix.cells.printed import load, read_mapping
from fedmix.cells.ranks import rank_agreement
from fedmix.cells.scorecard import cells_table, claims_table, scorecard
from fedmix.cells.verdicts import VERDICTS

__all__ = [
    "CLAIM_VERDICTS",
    "VERDICTS",
    "audit_cells",
    "cells_table",
    "claims_table",
    "counts",
    "evaluate_claims",
    "load",
    "measure_discrepancies",
    "rank_agreement",
    "read_claims",
    "read_discrepancies",
    "read_mapping",
    "scorecard",
    "summarise_variants",
    "unmatched",
]
