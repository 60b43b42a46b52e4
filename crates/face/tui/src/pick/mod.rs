//! Lists to choose from, checklists and forms, in a chat and outside.
