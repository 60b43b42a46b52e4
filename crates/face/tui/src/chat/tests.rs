//! Whole conversations in a room, without a terminal.
