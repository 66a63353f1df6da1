"""Labels of steps: how they are made, and how wrong they are."""

from __future__ import annotations

from markscheme.prm.labels.audit import LabelAudit, audit

__all__ = ["LabelAudit", "audit"]
