"""The HTML report of a measurement: one self-contained file, readable offline and on paper."""

from airqueue.report.page import write_report

__all__ = ["write_report"]
