//! A message on its way out. One with a hole is filled while it is sent: nobody holds 200 MB for a test.

use bytes::Bytes;
use serde_json::Value;

/// Where a padded message gets its filler. No honest text contains it.
pub(crate) const HOLE: &str = "\u{1}filler\u{1}";

const FILLER: &[u8] = &[b'x'; 64 << 10];

#[derive(Clone, Debug)]
pub(crate) struct Text {
    before: String,
    filler: usize,
    after: String,
}

impl Text {
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            before: text.into(),
            filler: 0,
            after: String::new(),
        }
    }

    pub fn json(value: &Value) -> Self {
        Self::plain(value.to_string())
    }

    /// `value` with `size` bytes in place of [`HOLE`].
    pub fn padded(value: &Value, size: usize) -> Self {
        let hole = Value::from(HOLE).to_string();
        let text = value.to_string();
        match text.split_once(hole.trim_matches('"')) {
            Some((before, after)) => Self {
                before: before.to_owned(),
                filler: size,
                after: after.to_owned(),
            },
            None => Self::plain(text),
        }
    }

    /// The same as an event of a stream.
    pub fn event(self) -> Self {
        Self {
            before: format!("event: message\ndata: {}", self.before),
            after: format!("{}\n\n", self.after),
            ..self
        }
    }

    /// The same as a line.
    pub fn line(self) -> Self {
        Self {
            after: self.after + "\n",
            ..self
        }
    }

    pub fn len(&self) -> usize {
        self.before.len() + self.filler + self.after.len()
    }

    pub fn pieces(&self) -> impl Iterator<Item = Bytes> + use<> {
        let whole = self.filler / FILLER.len();
        let rest = self.filler % FILLER.len();
        std::iter::once(Bytes::from(self.before.clone()))
            .chain(std::iter::repeat_n(Bytes::from_static(FILLER), whole))
            .chain([Bytes::from_static(&FILLER[..rest])])
            .chain([Bytes::from(self.after.clone())])
            .filter(|piece| !piece.is_empty())
    }

    /// The first half: for what is cut off.
    pub fn half(&self) -> Bytes {
        let text = self.before.as_bytes();
        Bytes::copy_from_slice(&text[..text.len() / 2])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &Text, expected: &str) {
        let all: Vec<u8> = text.pieces().flatten().collect();
        assert_eq!(all.len(), text.len());
        assert_eq!(String::from_utf8(all).unwrap(), expected);
    }

    #[test]
    fn holes_are_filled() {
        let value = json!({"a": HOLE, "b": 1});
        check(&Text::padded(&value, 3), r#"{"a":"xxx","b":1}"#);
        check(&Text::padded(&json!(["no hole"]), 3), r#"["no hole"]"#);
        let event = "event: message\ndata: {\"a\":\"xx\",\"b\":1}\n\n";
        check(&Text::padded(&value, 2).event(), event);
        let long = format!("[\"{}\"]\n", "x".repeat(200_000));
        check(&Text::padded(&json!([HOLE]), 200_000).line(), &long);
    }
}
