//! The terminal itself: its modes, the live region, scrollback and overlays.
