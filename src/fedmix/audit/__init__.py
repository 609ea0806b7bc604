"""The audit: printed numbers, claims and discrepancies, put to our results."""

from fedmix.audit.cells import audit_cells, counts, summarise_variants
from fedmix.audit.claims import CLAIM_VERDICTS, evaluate_claims, read_claims
from fedmix.audit.discrepancies import measure_discrepancies, read_discrepancies
from fedmix.audit.ranks import rank_agreement
from fedmix.audit.summary import cells_table, claims_table, scorecard
from fedmix.audit.verdicts import VERDICTS

__all__ = [
    "CLAIM_VERDICTS",
    "VERDICTS",
    "audit_cells",
    "cells_table",
    "claims_table",
    "counts",
    "evaluate_claims",
    "measure_discrepancies",
    "rank_agreement",
    "read_claims",
    "read_discrepancies",
    "scorecard",
    "summarise_variants",
]
