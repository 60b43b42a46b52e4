//! Markdown as rows: whole texts and texts that are still arriving.
