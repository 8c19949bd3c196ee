"""Catalogue of a folder of reports: their headline figures in one Parquet file, brought up to date by what changed.

    from popvision.catalogue import refresh, select_reports
    refresh("reports")
    select_reports("reports", where="peak > 600000", sort="cycles")     # a DataFrame, a row per report

Needs DuckDB (extra [sql]). The file, `.popvision-catalogue.parquet` in the folder, may be deleted at any time."""

from __future__ import annotations

from popvision.catalogue.catalogue_file import Refreshed, refresh
from popvision.catalogue.places import FILE_NAME
from popvision.catalogue.selection import select_reports
from popvision.catalogue.trend import Change, check_trend

__all__ = ["FILE_NAME", "Change", "Refreshed", "check_trend", "refresh", "select_reports"]
