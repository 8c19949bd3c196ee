"""A view as one file that needs no server and no network: `export_document`."""

from webapp.documents.export import ExportError, export_document

__all__ = ["ExportError", "export_document"]
