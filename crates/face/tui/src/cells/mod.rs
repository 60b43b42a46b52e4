//! What stands in the transcript, each kind with its own way to be drawn at any width.
