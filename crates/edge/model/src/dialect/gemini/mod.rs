//! Gemini's own API: contents made of parts, with signatures on the calls that thinking led to.

mod decode;
mod encode;

pub(super) use decode::{Decoder, decode_whole};
pub(super) use encode::encode;
