//! OpenAI chat completions, which nearly every other host speaks too, each with an accent.

mod decode;
mod encode;

pub(super) use decode::{Decoder, decode_whole};
pub(super) use encode::encode;
