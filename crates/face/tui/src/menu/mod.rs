//! What could be meant: the list below the input.
