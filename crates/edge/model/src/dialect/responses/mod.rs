//! OpenAI Responses: a conversation is a list of items, and thinking comes back sealed, as items too.

mod decode;
mod encode;

pub(super) use decode::{Decoder, decode_whole};
pub(super) use encode::encode;
