//! What was typed while a turn ran and waits for its end.

use std::collections::VecDeque;

use crate::input::Draft;

#[derive(Debug, Default)]
pub struct Queue {
    waiting: VecDeque<Draft>,
    /// The turn was interrupted for what waits: all of it is one message.
    together: bool,
}

impl Queue {
    /// One message after another, a turn for each.
    pub fn push(&mut self, draft: Draft) {
        self.waiting.push_back(draft);
    }

    /// The running turn ends for this; what follows before that belongs to it.
    pub fn redirect(&mut self, draft: Draft) {
        self.together = true;
        self.waiting.push_back(draft);
    }

    /// What is next, now that nothing runs.
    pub fn next(&mut self) -> Option<Draft> {
        if !std::mem::take(&mut self.together) {
            return self.waiting.pop_front();
        }
        let all = std::mem::take(&mut self.waiting);
        all.into_iter().reduce(joined)
    }

    /// The newest one, to be edited again.
    pub fn recall(&mut self) -> Option<Draft> {
        let draft = self.waiting.pop_back();
        self.together &= !self.waiting.is_empty();
        draft
    }

    /// What waits, as it was typed.
    pub fn shown(&self) -> impl ExactSizeIterator<Item = &str> {
        self.waiting.iter().map(|draft| draft.shown.as_str())
    }
}

fn joined(mut all: Draft, more: Draft) -> Draft {
    for (text, added) in [
        (&mut all.text, &more.text),
        (&mut all.shown, &more.shown),
        (&mut all.record, &more.record),
    ] {
        text.push('\n');
        text.push_str(added);
    }
    all.images.extend(more.images);
    all
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn draft(text: &str) -> Draft {
        Draft {
            text: text.to_owned(),
            shown: text.to_owned(),
            ..Draft::default()
        }
    }

    fn next(queue: &mut Queue) -> Option<String> {
        queue.next().map(|draft| draft.text)
    }

    #[test]
    fn what_is_queued_comes_one_by_one() {
        let mut queue = Queue::default();
        queue.push(draft("a"));
        queue.push(draft("b"));
        assert_eq!(next(&mut queue).as_deref(), Some("a"));
        assert_eq!(queue.recall().map(|draft| draft.text).as_deref(), Some("b"));
        assert_eq!(next(&mut queue), None);
    }

    #[test]
    fn what_a_turn_was_interrupted_for_is_one_message() {
        let mut queue = Queue::default();
        queue.redirect(draft("a"));
        queue.push(draft("b"));
        queue.redirect(draft("c"));
        assert_eq!(next(&mut queue).as_deref(), Some("a\nb\nc"));
        assert_eq!(queue.shown().len(), 0);
    }
}
