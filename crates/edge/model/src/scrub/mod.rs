//! Think tags out of text: what a model thinks aloud goes to the reasoning, what it says stays.
//!
//! [`Scrubber`] works on a stream and gives the same result however the text is cut. An opening tag counts at
//! the beginning of a line, or in the middle of one if it is closed before the line ends; anything else is a
//! sentence that mentions the tag. [`strip`] cleans a complete text and can look further.

mod strip;

pub use strip::strip;

/// Tags around thinking, and whether what is between them is kept as reasoning.
const TAGS: [(&str, Fate); 6] = [
    ("think", Fate::Thought),
    ("thinking", Fate::Thought),
    ("reasoning", Fate::Thought),
    ("thought", Fate::Thought),
    ("reasoning_scratchpad", Fate::Thought),
    // Recalled memories are put into prompts between these; a model that repeats them says nothing new.
    ("memory-context", Fate::Nothing),
];

/// A line that opens a tag in its middle is held back until it ends, but not for ever.
const MAX_HELD: usize = 8 * 1024;

/// What comes out of the scrubber, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    Thought(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Thought,
    Nothing,
}

/// Separates a stream of text.
#[derive(Debug)]
pub struct Scrubber {
    state: State,
    /// The end of the text so far if it might be the beginning of a tag.
    tail: String,
    /// Only white space has been said on the current line.
    line_is_blank: bool,
    /// Anything has been said at all.
    has_spoken: bool,
    /// The last thing said was a backtick: a tag after it is quoted.
    after_backtick: bool,
    /// White space after a closing tag belongs to the tag.
    skip_space: bool,
}

#[derive(Debug)]
enum State {
    Text,
    Block(Fate),
    /// In the middle of a line, since this opening tag: a pair, or a mention.
    Held {
        tag: usize,
        text: String,
        fate: Fate,
    },
}

enum Found {
    Open(usize, Fate),
    Close(usize),
    /// It may become a tag when more text comes.
    Partial,
    Nothing,
}

impl Default for Scrubber {
    fn default() -> Self {
        Self {
            state: State::Text,
            tail: String::new(),
            line_is_blank: true,
            has_spoken: false,
            after_backtick: false,
            skip_space: false,
        }
    }
}

impl Scrubber {
    /// Takes the next piece of text.
    pub fn push(&mut self, text: &str, out: &mut Vec<Piece>) {
        let is_plain = matches!(self.state, State::Text) && self.tail.is_empty();
        if is_plain && !text.contains('<') {
            self.say(text, out);
            return;
        }
        let whole = std::mem::take(&mut self.tail) + text;
        let mut rest = whole.as_str();
        while !rest.is_empty() {
            let end = self.plain_end(rest);
            let (plain, at_mark) = rest.split_at(end);
            self.pass(plain, out);
            rest = match at_mark.chars().next() {
                None => "",
                Some('\n') => {
                    self.end_line(out);
                    &at_mark[1..]
                }
                Some(_) => match self.at_tag(at_mark, out) {
                    Some(length) => &at_mark[length..],
                    None => {
                        self.tail = at_mark.to_owned();
                        ""
                    }
                },
            };
        }
    }

    /// The text is over: what was held back is said after all.
    pub fn finish(&mut self, out: &mut Vec<Piece>) {
        self.release(out);
        let tail = std::mem::take(&mut self.tail);
        // Half a closing tag isn't worth keeping.
        if matches!(self.state, State::Text) {
            self.say(&tail, out);
        }
        *self = Self::default();
    }

    /// How far the text goes without anything to decide.
    fn plain_end(&self, text: &str) -> usize {
        let holds = matches!(self.state, State::Held { .. });
        let decides = |c: char| c == '<' || holds && c == '\n';
        text.find(decides).unwrap_or(text.len())
    }

    /// Text without tags, to wherever the state sends it.
    fn pass(&mut self, plain: &str, out: &mut Vec<Piece>) {
        match &mut self.state {
            State::Text => self.say(plain, out),
            State::Block(fate) => think(plain, *fate, out),
            State::Held { text, .. } => {
                text.push_str(plain);
                if text.len() > MAX_HELD {
                    self.release(out);
                }
            }
        }
    }

    /// Handles the `<` that `text` begins with. Returns how much of it was used, `None` if more is needed.
    fn at_tag(&mut self, text: &str, out: &mut Vec<Piece>) -> Option<usize> {
        let found = find_tag(text);
        match (&mut self.state, found) {
            (_, Found::Partial) => None,
            (State::Text, Found::Open(length, fate)) if !self.after_backtick => {
                self.open(&text[..length], fate);
                Some(length)
            }
            (State::Text, Found::Close(length)) if !self.after_backtick => {
                self.skip_space = true;
                Some(length)
            }
            (State::Block(_), Found::Close(length)) => {
                self.state = State::Text;
                self.skip_space = !self.has_spoken;
                Some(length)
            }
            (State::Held { tag, text, fate }, Found::Close(length)) => {
                think(&text[*tag..], *fate, out);
                self.state = State::Text;
                Some(length)
            }
            _ => {
                self.pass("<", out);
                Some(1)
            }
        }
    }

    fn open(&mut self, tag: &str, fate: Fate) {
        self.state = if self.line_is_blank {
            State::Block(fate)
        } else {
            State::Held {
                tag: tag.len(),
                text: tag.to_owned(),
                fate,
            }
        };
    }

    /// A line ends after a tag that was opened in it. Recalled memories begin on the next line, and nobody who
    /// mentions their tag ends the line with it; anything else was a mention.
    fn end_line(&mut self, out: &mut Vec<Piece>) {
        match &self.state {
            State::Held {
                tag,
                text,
                fate: Fate::Nothing,
            } if text[*tag..].trim().is_empty() => self.state = State::Block(Fate::Nothing),
            _ => {
                self.release(out);
                self.say("\n", out);
            }
        }
    }

    /// A held tag turned out to be a mention.
    fn release(&mut self, out: &mut Vec<Piece>) {
        if let State::Held { text, .. } = &mut self.state {
            let text = std::mem::take(text);
            self.state = State::Text;
            self.say(&text, out);
        }
    }

    fn say(&mut self, mut text: &str, out: &mut Vec<Piece>) {
        if self.skip_space {
            text = text.trim_start_matches([' ', '\t', '\r', '\n']);
            self.skip_space = text.is_empty();
        }
        let Some(last) = text.chars().next_back() else {
            return;
        };
        self.after_backtick = last == '`';
        self.has_spoken |= !text.trim().is_empty();
        self.line_is_blank = match text.rsplit_once('\n') {
            Some((_, line)) => line.trim().is_empty(),
            None => self.line_is_blank && text.trim().is_empty(),
        };
        match out.last_mut() {
            Some(Piece::Text(said)) => said.push_str(text),
            _ => out.push(Piece::Text(text.to_owned())),
        }
    }
}

fn think(text: &str, fate: Fate, out: &mut Vec<Piece>) {
    if fate == Fate::Nothing || text.is_empty() {
        return;
    }
    match out.last_mut() {
        Some(Piece::Thought(thought)) => thought.push_str(text),
        _ => out.push(Piece::Thought(text.to_owned())),
    }
}

/// What the `<` at the beginning of `text` is.
fn find_tag(text: &str) -> Found {
    let (is_close, name) = match text[1..].strip_prefix('/') {
        Some(rest) => (true, rest),
        None => (false, &text[1..]),
    };
    let prefix = text.len() - name.len();
    let mut could_be = false;
    for (tag, fate) in TAGS {
        let known = name.len().min(tag.len());
        // A byte comparison: a character that straddles the end can't be part of a tag.
        let matches = name.as_bytes()[..known].eq_ignore_ascii_case(&tag.as_bytes()[..known]);
        match name.as_bytes().get(tag.len()) {
            _ if !matches => {}
            Some(b'>') if is_close => return Found::Close(prefix + tag.len() + 1),
            Some(b'>') => return Found::Open(prefix + tag.len() + 1, fate),
            Some(_) => {}
            None => could_be = true,
        }
    }
    if could_be {
        Found::Partial
    } else {
        Found::Nothing
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    /// Visible text and thoughts.
    fn scrub<'a>(chunks: impl IntoIterator<Item = &'a str>) -> (String, String) {
        let mut scrubber = Scrubber::default();
        let mut pieces = Vec::new();
        for chunk in chunks {
            scrubber.push(chunk, &mut pieces);
        }
        scrubber.finish(&mut pieces);
        let mut both = (String::new(), String::new());
        for piece in pieces {
            match piece {
                Piece::Text(text) => both.0 += &text,
                Piece::Thought(text) => both.1 += &text,
            }
        }
        both
    }

    fn check(text: &str, visible: &str, thoughts: &str) {
        assert_eq!(
            scrub([text]),
            (visible.to_owned(), thoughts.to_owned()),
            "{text:?}"
        );
    }

    #[test]
    fn thinking_is_separated() {
        check("<think>secret</think>Hi", "Hi", "secret");
        check("<THINKING>\nsecret\n</Thinking>\n\nHi", "Hi", "\nsecret\n");
        check(
            "  <thought>a</thought><reasoning>b</reasoning>\nHi",
            "  Hi",
            "ab",
        );
        check("Hi\n  <think>a\nb</think>\nyou", "Hi\n  \nyou", "a\nb");
        check("Hi <think>a</think> you", "Hi  you", "a");
        check("<think>never closed", "", "never closed");
        check("<memory-context>old</memory-context>Hi", "Hi", "");
        check("<think>a <b> < c</think>Hi", "Hi", "a <b> < c");
    }

    #[test]
    fn recalled_memories_are_not_repeated() {
        let block = "<memory-context>\n[recalled]\n\nlikes tea\n</memory-context>";
        check(&format!("{block}\nHi"), "Hi", "");
        check(&format!("Hi {block}\nyou"), "Hi \nyou", "");
        check(&format!("Hi\n{block}\nyou"), "Hi\n\nyou", "");
        // Never closed: nothing of it is said.
        check("Hi <memory-context>\nlikes tea", "Hi ", "");
        check("<memory-context>likes tea", "", "");
        for mention in [
            "The <memory-context> tag.",
            "The <memory-context> tag\nopens",
        ] {
            check(mention, mention, "");
        }
        let stored = |text: &str, expected: &str| assert_eq!(strip(text), expected, "{text:?}");
        stored(&format!("Hi {block} you"), "Hi  you");
        stored("Hi\n<memory-context>\nlikes tea", "Hi\n");
        stored("Hi <memory-context>\nlikes tea", "Hi ");
    }

    #[test]
    fn a_mention_is_text() {
        for text in [
            "Use the <think> tag.",
            "Use the `<think>` tag.",
            "Write `<think>` and `</think>`.",
            "`<think>` opens\n`</think>` closes",
            "The <think> tag\nopens a block",
            "a < b, <thin>, <thinker>, </ think>, <think",
        ] {
            check(text, text, "");
            assert_eq!(strip(text), text);
        }
    }

    #[test]
    fn stray_closing_tags_vanish() {
        check("reasoned</think>\n\nHi", "reasonedHi", "");
        check("</thinking> Hi", "Hi", "");
    }

    #[test]
    fn a_line_is_not_held_back_for_ever() {
        let long = format!("The <think> tag {}", "x".repeat(2 * MAX_HELD));
        let mut pieces = Vec::new();
        Scrubber::default().push(&long, &mut pieces);
        assert_eq!(pieces, [Piece::Text(long)]);
    }

    #[test]
    fn a_complete_text_is_stripped() {
        let check = |text: &str, expected| assert_eq!(strip(text), expected, "{text:?}");
        check("Hi <think>a\nb</think> you", "Hi  you");
        check("Hi\n<think>never closed", "Hi\n");
        check("a</think> b", "ab");
        check(
            "Hi\n<tool_call>{\"name\": \"f\"}</tool_call>\nyou",
            "Hi\n\nyou",
        );
        check("<function name=\"f\">{}</function>Hi", "Hi");
        check("Hi</tool_call>", "Hi");
        check("a <tool_call> is mentioned", "a <tool_call> is mentioned");
    }

    proptest! {
        #[test]
        fn chunking_makes_no_difference(
            words in prop::collection::vec(
                prop_oneof![
                    "<(/)?(think|Thinking|thought|memory-context)>",
                    "[a`<>/ \né]{0,6}",
                    "(<|</|<thi|nk>|ought>)",
                ],
                0..16,
            ),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let text = words.concat();
            let ends: Vec<_> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
            let mut cuts: Vec<_> = cuts.iter().map(|cut| ends[cut.index(ends.len())]).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let chunks = cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]);
            prop_assert_eq!(scrub(chunks), scrub([text.as_str()]));
        }

        #[test]
        fn no_part_of_a_recalled_memory_gets_through(
            before in "([a-z]{1,6} ?|[a-z]{1,6}\n)?",
            secret in "[A-Z<>/ \n]{1,30}",
            closed in any::<bool>(),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let close = if closed { "</memory-context>" } else { "" };
            let text = format!("{before}<memory-context>\n{secret}{close}");
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let chunks = cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]);
            prop_assert_eq!(scrub(chunks), (before.clone(), String::new()));
        }

        #[test]
        fn text_without_tags_is_untouched(text in "[a-z \n`.,]{0,40}") {
            prop_assert_eq!(scrub([text.as_str()]), (text.clone(), String::new()));
            prop_assert_eq!(strip(&text), text);
        }
    }
}
