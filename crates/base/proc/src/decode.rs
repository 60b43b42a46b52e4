//! Bytes that arrive in pieces, as text.

use std::mem;

/// Decodes UTF-8 piece by piece; what isn't UTF-8 becomes `U+FFFD`. A character cut by the end of a piece waits
/// for the next one.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The beginning of a character: at most three bytes.
    rest: Vec<u8>,
}

impl Decoder {
    pub fn push(&mut self, bytes: &[u8]) -> String {
        let joined;
        let bytes = if self.rest.is_empty() {
            bytes
        } else {
            joined = [&mem::take(&mut self.rest), bytes].concat();
            &joined
        };
        let mut text = String::with_capacity(bytes.len());
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let invalid = chunk.invalid();
            if chunks.peek().is_none() && could_go_on(invalid) {
                self.rest = invalid.to_vec();
            } else if !invalid.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        text
    }

    /// What is left when nothing more will come.
    pub fn finish(&mut self) -> String {
        match mem::take(&mut self.rest).is_empty() {
            true => String::new(),
            false => char::REPLACEMENT_CHARACTER.to_string(),
        }
    }
}

fn could_go_on(bytes: &[u8]) -> bool {
    str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_give_the_same_text_as_the_whole() {
        let samples: [&[u8]; 6] = [
            b"plain",
            "äöü € 🦀 end".as_bytes(),
            b"a\xff\xfeb",
            b"\xe2\x82",
            b"\xf0\x9f\xa6x",
            b"\x00\x80\xc3\xc3\xa4",
        ];
        for bytes in samples {
            for size in 1..=bytes.len() {
                let mut decoder = Decoder::default();
                let mut text: String = bytes.chunks(size).map(|c| decoder.push(c)).collect();
                text += &decoder.finish();
                assert_eq!(text, String::from_utf8_lossy(bytes), "{bytes:?} by {size}");
            }
        }
    }
}
