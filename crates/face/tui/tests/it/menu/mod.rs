//! The list below the input.
