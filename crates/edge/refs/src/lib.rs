//! What a person's message refers to with `@`: found in the text, read within bounds, attached to it; and what
//! could be meant while it is still being typed.
//!
//! [`parse`] is pure. [`References`] reads what it found: files and folders of the workspace, git, pages. [`Finder`]
//! knows the files of a project and ranks them for a menu.

mod expand;
mod find;
mod git;
mod html;
mod page;
pub mod parse;
mod place;
mod read;

pub use expand::{Expanded, References};
pub use find::{Candidate, Finder, Kind};

/// What is too large for a model's memory is never read as a whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    /// A text of this many bytes is already more than may be attached.
    bytes: usize,
}

/// Rough sizes: four bytes are a token. A letter of English is one byte, a sign of Chinese three, and nearly a token.
const BYTES_PER_TOKEN: u64 = 4;

fn tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(BYTES_PER_TOKEN)
}

impl Bound {
    /// One byte more than `most` tokens.
    fn above(most: u64) -> Self {
        let bytes = most.saturating_mul(BYTES_PER_TOKEN).saturating_add(1);
        Self {
            bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
        }
    }
}
