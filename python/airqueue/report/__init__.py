"""The HTML reports of measurements and emulations: single files, readable offline and on paper."""

from airqueue.report.page import write_report

__all__ = ["write_report"]
