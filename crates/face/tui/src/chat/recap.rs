//! What was said before, for somebody who goes on with a conversation.

use hermes_types::{Content, Message, Opened, Role};

use crate::cells::Recap;
use crate::cells::recap::{Exchange, Limits, Show};

pub fn of(opened: &Opened, recap: bool) -> Recap {
    let is_user = |message: &&Message| message.role == Role::User;
    let show = match recap {
        true => Show::Full,
        false => Show::Minimal,
    };
    Recap {
        session: opened.session.to_string(),
        title: opened.title.clone(),
        user_messages: opened.earlier.iter().filter(is_user).count(),
        all_messages: opened.hidden + opened.earlier.len(),
        exchanges: exchanges(&opened.earlier),
        limits: Limits {
            show,
            ..Limits::default()
        },
    }
}

fn exchanges(messages: &[Message]) -> Vec<Exchange> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    for message in messages {
        let text = message.content.as_ref().map(Content::plain);
        let text = text.unwrap_or_default();
        match (&message.role, exchanges.last_mut()) {
            (Role::User, _) => exchanges.push(Exchange {
                said: text,
                ..Exchange::default()
            }),
            (Role::Assistant, Some(current)) => {
                current.tools += message.tool_calls.len();
                if !text.trim().is_empty() {
                    current.answers.push(text);
                }
            }
            _ => {}
        }
    }
    exchanges
}
