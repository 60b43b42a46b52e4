//! What is typed: the editor, its history, pastes.
