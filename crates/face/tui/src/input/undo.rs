//! The way back through what was edited, a word or a deletion at a time.

use std::collections::VecDeque;

/// How many steps and how many bytes of them are kept.
const MOST_STEPS: usize = 5000;
const MOST_BYTES: usize = 16 << 20;

/// How an edit joins the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Typing,
    Erasing,
    Alone,
}

/// One replaced stretch of text.
#[derive(Clone, Debug)]
pub struct Edit {
    pub at: usize,
    pub removed: String,
    pub inserted: String,
    /// Where the cursor was before.
    pub cursor: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Undo {
    done: VecDeque<Edit>,
    undone: Vec<Edit>,
    bytes: usize,
    /// What the last edit was, if another one may still join it.
    open: Option<Step>,
}

impl Undo {
    pub fn record(&mut self, edit: Edit, step: Step) {
        self.undone.clear();
        self.bytes += edit.removed.len() + edit.inserted.len();
        let joined = self.open == Some(step)
            && self
                .done
                .back_mut()
                .is_some_and(|last| join(last, &edit, step));
        if !joined {
            self.done.push_back(edit);
        }
        self.open = Some(step);
        while self.done.len() > MOST_STEPS || (self.bytes > MOST_BYTES && self.done.len() > 1) {
            let Some(oldest) = self.done.pop_front() else {
                break;
            };
            self.bytes -= oldest.removed.len() + oldest.inserted.len();
        }
    }

    /// What is typed next is a step of its own.
    pub fn close(&mut self) {
        self.open = None;
    }

    /// Takes the last step back; says where the cursor was.
    pub fn back(&mut self, text: &mut String) -> Option<usize> {
        let edit = self.done.pop_back()?;
        text.replace_range(edit.at..edit.at + edit.inserted.len(), &edit.removed);
        let cursor = edit.cursor;
        self.bytes -= edit.removed.len() + edit.inserted.len();
        self.undone.push(edit);
        self.open = None;
        Some(cursor)
    }

    /// Does a step again that was taken back; says where the cursor goes.
    pub fn again(&mut self, text: &mut String) -> Option<usize> {
        let edit = self.undone.pop()?;
        text.replace_range(edit.at..edit.at + edit.removed.len(), &edit.inserted);
        let cursor = edit.at + edit.inserted.len();
        self.bytes += edit.removed.len() + edit.inserted.len();
        self.done.push_back(edit);
        self.open = None;
        Some(cursor)
    }
}

/// Makes one step of two, if they belong together.
fn join(last: &mut Edit, edit: &Edit, step: Step) -> bool {
    match step {
        Step::Alone => false,
        Step::Typing => {
            let new_word = last.inserted.ends_with(char::is_whitespace)
                && !edit.inserted.starts_with(char::is_whitespace);
            let follows = last.at + last.inserted.len() == edit.at && edit.removed.is_empty();
            if follows && !new_word {
                last.inserted.push_str(&edit.inserted);
            }
            follows && !new_word
        }
        Step::Erasing if !last.inserted.is_empty() => false,
        Step::Erasing if edit.at == last.at => {
            last.removed.push_str(&edit.removed);
            true
        }
        Step::Erasing if edit.at + edit.removed.len() == last.at => {
            last.removed.insert_str(0, &edit.removed);
            last.at = edit.at;
            true
        }
        Step::Erasing => false,
    }
}
