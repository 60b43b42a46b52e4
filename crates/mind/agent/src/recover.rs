//! Errors of the model that the conversation can be changed for, or asked more modestly; each once.

use hermes_types::{ModelError, ModelErrorKind};

use crate::conversation::Conversation;

/// What servers count and we don't.
const MARGIN: u64 = 64;

/// Which recoveries a turn has had.
#[derive(Debug, Default)]
pub struct Recovered {
    images: bool,
    output: bool,
}

/// What makes asking again worthwhile.
#[derive(Debug, PartialEq, Eq)]
pub enum Recovery {
    /// The conversation changed; what its owner is told.
    Changed(&'static str),
    /// There is room for this much of a reply.
    Room(u64),
}

impl Recovered {
    /// Changes what can be changed about an error.
    pub fn from(
        &mut self,
        error: &ModelError,
        conversation: &mut Conversation,
    ) -> Option<Recovery> {
        match error.kind {
            ModelErrorKind::ImagesRejected if !std::mem::replace(&mut self.images, true) => {
                let told = "the model takes no pictures; it goes on without them";
                conversation
                    .drop_images()
                    .then_some(Recovery::Changed(told))
            }
            ModelErrorKind::ImageTooLarge if !std::mem::replace(&mut self.images, true) => {
                let told = "a picture is too large for the model; it goes on without pictures";
                conversation
                    .drop_images()
                    .then_some(Recovery::Changed(told))
            }
            ModelErrorKind::OutputTooLarge { available }
                if available > MARGIN && !std::mem::replace(&mut self.output, true) =>
            {
                Some(Recovery::Room(available - MARGIN))
            }
            _ => None,
        }
    }
}
