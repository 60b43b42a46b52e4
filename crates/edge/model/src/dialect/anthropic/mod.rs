//! Anthropic Messages: turns that alternate, made of content blocks; tool results are a user's blocks.

mod decode;
mod encode;
mod thinking;
mod turns;

pub(super) use decode::{Decoder, decode_whole};
pub(super) use encode::encode;
pub(super) use turns::{Turn, turns};
