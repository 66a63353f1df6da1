"""The report: one HTML file with everything in it, which runs no script but its own."""

from __future__ import annotations

from markscheme.cli.report.build import Report, ReportRow, render, write_report

__all__ = ["Report", "ReportRow", "render", "write_report"]
