//! Server-sent events out of bytes, however the network cut them. Pure.
//!
//! Follows the WHATWG format. What a client needs to come back to a stream is not part of its events: a block
//! without data has none, but its `id` and `retry` count.

use std::time::Duration;

/// Buffers larger than this are not kept for the next line.
const KEPT: usize = 64 << 10;

/// One event that had data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Empty if the server gave none.
    pub name: String,
    /// The data lines, joined by newlines.
    pub data: String,
}

/// An event that would have grown past the limit: a broken or hostile server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a server-sent event is larger than {limit} bytes")]
pub struct TooLarge {
    pub limit: usize,
}

/// Collects bytes into events.
#[derive(Debug)]
pub struct Decoder {
    limit: usize,
    /// The beginning of a line whose end hasn't come.
    partial: Vec<u8>,
    /// The last line ended with CR: an LF now belongs to it.
    after_cr: bool,
    is_first_line: bool,
    event: Event,
    has_data: bool,
    /// The id the current block gives, which counts once the block has ended.
    next_id: Option<String>,
    last_id: Option<String>,
    retry: Option<Duration>,
}

impl Decoder {
    /// `limit` bounds the bytes of one event, and so the memory a server can make us use.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            partial: Vec::new(),
            after_cr: false,
            is_first_line: true,
            event: Event::default(),
            has_data: false,
            next_id: None,
            last_id: None,
            retry: None,
        }
    }

    /// The id of the last block that had one: where to go on when the stream is cut here.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long the server wants a client to wait before it comes back.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Whether the stream ended in the middle of a block.
    pub fn is_inside_block(&self) -> bool {
        self.has_data || !self.partial.is_empty()
    }

    /// Takes the next bytes and returns the events they complete.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<Event>, TooLarge> {
        let mut events = Vec::new();
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, rest) = bytes.split_at(end);
            let line_end = match rest {
                [b'\r', b'\n', ..] => 2,
                [b'\r'] => {
                    self.after_cr = true;
                    1
                }
                _ => 1,
            };
            self.end_line(line, &mut events)?;
            bytes = &rest[line_end..];
        }
        self.room_for(bytes.len())?;
        self.partial.extend_from_slice(bytes);
        Ok(events)
    }

    /// The server has closed the stream. An event without its blank line still counts: some servers forget it.
    pub fn finish(mut self) -> Result<Option<Event>, TooLarge> {
        let mut events = Vec::new();
        if !self.partial.is_empty() {
            self.end_line(b"", &mut events)?;
        }
        self.end_line(b"", &mut events)?;
        Ok(events.pop())
    }

    fn end_line(&mut self, end: &[u8], events: &mut Vec<Event>) -> Result<(), TooLarge> {
        self.room_for(end.len())?;
        // Nearly always the line is whole in these bytes and needs no copy.
        let mut partial = std::mem::take(&mut self.partial);
        if partial.is_empty() {
            self.take_line(end, events);
            return Ok(());
        }
        partial.extend_from_slice(end);
        if partial.len() > KEPT {
            self.take_long_line(partial, events);
            return Ok(());
        }
        self.take_line(&partial, events);
        partial.clear();
        self.partial = partial;
        Ok(())
    }

    /// A line of megabytes becomes the data of its event without being copied, where that is possible.
    fn take_long_line(&mut self, mut line: Vec<u8>, events: &mut Vec<Event>) {
        if self.has_data || self.is_first_line || !line.starts_with(b"data:") {
            return self.take_line(&line, events);
        }
        let begin = if line.starts_with(b"data: ") { 6 } else { 5 };
        line.drain(..begin);
        self.event.data = String::from_utf8(line)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        self.has_data = true;
    }

    fn take_line(&mut self, mut line: &[u8], events: &mut Vec<Event>) {
        if std::mem::take(&mut self.is_first_line) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            return self.end_block(events);
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => {
                self.event.name.clear();
                push_lossy(&mut self.event.name, value);
            }
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                push_lossy(&mut self.event.data, value);
            }
            b"id" if !value.contains(&0) => {
                self.next_id = Some(String::from_utf8_lossy(value).into_owned());
            }
            b"retry" => {
                let number = std::str::from_utf8(value).ok();
                let number = number.and_then(|value| value.parse().ok());
                self.retry = number.map(Duration::from_millis).or(self.retry);
            }
            // Comments have an empty name, everything else an unknown one.
            _ => {}
        }
    }

    fn end_block(&mut self, events: &mut Vec<Event>) {
        if let Some(id) = self.next_id.take() {
            // An empty id takes back the one before.
            self.last_id = Some(id).filter(|id| !id.is_empty());
        }
        let event = std::mem::take(&mut self.event);
        if std::mem::take(&mut self.has_data) {
            events.push(event);
        }
    }

    fn room_for(&self, more: usize) -> Result<(), TooLarge> {
        if self.event.data.len() + self.partial.len() + more > self.limit {
            return Err(TooLarge { limit: self.limit });
        }
        Ok(())
    }
}

/// Nearly everything is valid, and checking that is much faster than looking for what isn't.
fn push_lossy(text: &mut String, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(valid) => text.push_str(valid),
        Err(_) => text.push_str(&String::from_utf8_lossy(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
        let mut decoder = Decoder::new(1 << 20);
        let mut events = Vec::new();
        for chunk in chunks {
            events.extend(decoder.push(chunk).unwrap());
        }
        events.extend(decoder.finish().unwrap());
        events
    }

    fn check(text: &str, expected: &[(&str, &str)]) {
        let events = decode([text.as_bytes()]);
        let events: Vec<_> = events.iter().map(|e| (&*e.name, &*e.data)).collect();
        assert_eq!(events, expected, "{text:?}");
    }

    #[test]
    fn the_format() {
        check("data: a\n\nevent: x\ndata: b\n\n", &[("", "a"), ("x", "b")]);
        check("data: a\ndata: b\ndata\n\n", &[("", "a\nb\n")]);
        check("data:a\r\rdata:  b\r\n\r\n", &[("", "a"), ("", " b")]);
        check("\u{feff}data: a\n\n\u{feff}data: b\n\n", &[("", "a")]);
        check(
            ": ping\n\nid: 7\nretry: 5\nevent: lonely\n\ndata: a\n\n",
            &[("", "a")],
        );
        check("data: é\u{1f980}\n\n", &[("", "é\u{1f980}")]);
        check("data: no blank line", &[("", "no blank line")]);
        check("noise\ndata: a\n\n", &[("", "a")]);
        check("", &[]);
    }

    #[test]
    fn bytes_that_are_not_utf8_do_not_stop_it() {
        assert_eq!(decode([&b"data: a\xffb\n\n"[..]])[0].data, "a\u{fffd}b");
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut decoder = Decoder::new(10);
        assert!(decoder.push(b"data: 1\n\ndata: 2\n\n").is_ok());
        assert_eq!(
            decoder.push(b"data: 12345678901"),
            Err(TooLarge { limit: 10 })
        );
        let mut decoder = Decoder::new(10);
        let lines = (0..9).try_for_each(|_| decoder.push(b"data: a\n").map(drop));
        assert_eq!(lines, Err(TooLarge { limit: 10 }));
    }

    #[test]
    fn where_to_go_on_after_a_cut() {
        let check = |text: &str, id: Option<&str>, retry: Option<u64>| {
            let mut decoder = Decoder::new(1000);
            decoder.push(text.as_bytes()).unwrap();
            assert_eq!(decoder.last_id(), id, "{text:?}");
            let retry = retry.map(Duration::from_millis);
            assert_eq!(decoder.retry(), retry, "{text:?}");
        };
        check("id: 1\nretry: 500\n\n", Some("1"), Some(500));
        check("id: 1\ndata: a\n\nid: 2\ndata: b\n", Some("1"), None);
        check("id: 1\ndata: a\n\ndata: b\n\n", Some("1"), None);
        check("id: 1\n\nid\n\n", None, None);
        check("id: a\0b\nretry: 5\nretry: soon\n\n", None, Some(5));
    }

    #[test]
    fn a_long_line_is_one_event_like_any_other() {
        let long = "é".repeat(KEPT);
        for begin in ["data: ", "data:"] {
            let text = format!(": hello\nevent: x\n{begin}{long}\ndata: b\n\ndata: c\n\n");
            let events = decode(text.as_bytes().chunks(1000));
            assert_eq!(events[0].name, "x");
            assert!(events[0].data == format!("{long}\nb"));
            assert_eq!(events[1].data, "c");
        }
    }

    proptest! {
        #[test]
        fn chunking_makes_no_difference(
            lines in prop::collection::vec("(data|event|:|x)?:? ?[a-zé\u{feff}]{0,5}(\r|\n|\r\n){0,3}", 0..12),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let text = lines.concat();
            let bytes = text.as_bytes();
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]);
            prop_assert_eq!(decode(chunks), decode([bytes]));
        }
    }
}
