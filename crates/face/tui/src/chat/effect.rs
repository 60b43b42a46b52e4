//! What the chat wants done: it decides, the loop acts.

use std::path::PathBuf;

use hermes_session::Input;

use crate::menu::Wanted;

#[derive(Debug)]
pub enum Effect {
    Send(Input),
    /// The owner leaves.
    Leave,
    /// Ctrl+Z.
    Suspend,
    /// The draft in the owner's editor.
    EditOutside,
    /// To the clipboard.
    Copy(String),
    /// An image from the clipboard, if there is one.
    PasteImage,
    /// Everything is drawn again.
    Repaint,
    /// Everything that was said, to scroll and search in.
    Transcript,
    /// A list to choose from, for this command.
    Choose(&'static str),
    Bell,
    /// News for somebody who looks elsewhere.
    Notify(String),
    /// Looks for what could be meant.
    Complete(Wanted),
    /// Written to the settings.
    Keep(&'static str, serde_json::Value),
    /// Another skin.
    Skin(String),
    /// An image is attached to the draft.
    Attach(PathBuf),
}
