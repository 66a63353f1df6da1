"""The report: one HTML file with everything in it, which runs no script but its own."""

from __future__ import annotations

from markscheme.cli.report.build import ANSWERS, PROGRAMS, Report, ReportRow, Words, render, write_report

__all__ = ["ANSWERS", "PROGRAMS", "Report", "ReportRow", "Words", "render", "write_report"]
