"""Export of a view as one self-contained HTML file: `export_document`."""

from webapp.documents.export import ExportError, export_document

__all__ = ["ExportError", "export_document"]
