//! The conversation on the screen: what happens becomes rows, keys become input.
