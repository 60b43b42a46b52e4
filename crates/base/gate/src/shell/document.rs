//! Documents in the command line: the lines behind `<<END`, up to the one that says `END`.

use std::ops::Range;

use super::Reader;

/// A document that was announced and begins with the next line.
pub(super) struct Pending {
    end: Vec<char>,
    /// `<<-`: tabs before the end don't count.
    indented: bool,
    /// A quoted end makes it plain text; otherwise substitutions in it run.
    plain: bool,
    /// Its place among the script's documents.
    at: usize,
}

impl Reader<'_, '_> {
    /// `<<<`: the text is the document.
    pub(super) fn here(&mut self, text: String) {
        let documents = &mut self.script.documents;
        self.frame.simple.documents.push(documents.len());
        documents.push(text);
    }

    /// `<<END`: the text comes later.
    pub(super) fn announce(&mut self, operator: &str, quoted: bool) {
        let end = self.delimiter();
        let at = self.script.documents.len();
        self.here(String::new());
        self.pending.push(Pending {
            end,
            indented: operator == "<<-",
            plain: quoted,
            at,
        });
    }

    /// What is written there: nothing in it is replaced, only quotes go.
    fn delimiter(&mut self) -> Vec<char> {
        let mut end = Vec::new();
        let mut quote = None;
        let mut escaped = false;
        for c in &self.text[self.frame.start.min(self.text.len())..self.pos] {
            match (c, quote) {
                (c, _) if escaped => {
                    end.extend(Some(*c).filter(|c| *c != '\n'));
                    escaped = false;
                }
                ('\\', None | Some('"')) => escaped = true,
                ('\'' | '"', None) => quote = Some(*c),
                (c, Some(open)) if *c == open => quote = None,
                (c, None) if c.is_whitespace() || ";|&()<>".contains(*c) => break,
                ('$' | '`', None) => {
                    // Shells disagree about these; not to be believed without a second look.
                    self.script.malformed = true;
                    end.push(*c);
                }
                (c, _) => end.push(*c),
            }
        }
        end
    }

    /// At the beginning of a line: all documents announced on the one before.
    pub(super) fn read_documents(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            let body = self.body(&pending);
            let text = &self.text[body];
            self.script.documents[pending.at] = text.iter().collect();
            if !pending.plain && text.iter().any(|c| matches!(c, '$' | '`')) {
                self.inside(text, |mut reader| reader.as_quoted());
            }
        }
    }

    fn body(&mut self, pending: &Pending) -> Range<usize> {
        let start = self.pos;
        while self.pos < self.text.len() {
            let line = self.pos;
            let length = self.text[line..].iter().position(|c| *c == '\n');
            let stop = length.map_or(self.text.len(), |length| line + length);
            self.script.steps += stop - line + 1;
            let mut said = &self.text[line..stop];
            while pending.indented && said.first() == Some(&'\t') {
                said = &said[1..];
            }
            let closed = self.depth > 1
                && said.get(pending.end.len()) == Some(&')')
                && said.starts_with(&pending.end);
            if said == pending.end || closed {
                let over = if closed {
                    stop - said.len() + pending.end.len()
                } else {
                    stop + 1
                };
                self.pos = over.min(self.text.len());
                return start..line;
            }
            self.pos = (stop + 1).min(self.text.len());
        }
        self.malformed();
        start..self.pos
    }
}
