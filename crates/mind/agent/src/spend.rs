//! What a turn may cost: looked at before every request, added up at the end.

use hermes_types::{Content, Message, ModelError, ModelErrorKind, Role, TurnEnd};

use crate::turn::Turn;

/// Why a turn ended that could not be paid for.
pub(crate) const SPENT: &str = "spending_limit";

impl Turn {
    /// Whether another request may be paid for.
    pub(crate) fn affordable(&self) -> Result<(), ModelError> {
        match self.scope.purse.empty() {
            None => Ok(()),
            Some(pot) => Err(ModelError::new(ModelErrorKind::Spent, pot.refusal())),
        }
    }

    /// What the turn cost, and what it has to show for it if the money ran out.
    pub(crate) fn settle(&self, said: Option<&[Message]>, end: &mut TurnEnd) {
        let purse = &self.scope.purse;
        let priced = purse.spent() > 0.0 || end.api_calls > 0 && !purse.is_unpriced();
        end.usd = priced.then(|| purse.spent());
        if end.reason == SPENT {
            let texts = said.unwrap_or_default().iter().rev();
            let mut texts = texts
                .filter(|message| message.role == Role::Assistant)
                .filter_map(|message| message.content.as_ref().map(Content::plain));
            end.text = texts
                .find(|text| !text.trim().is_empty())
                .unwrap_or_default();
        }
    }
}
