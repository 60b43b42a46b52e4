//! `/compress`: making the conversation shorter because its owner wants it, and the way back.

use hermes_agent::{Focus, Passed};
use hermes_store::Restored;
use jiff::Timestamp;

use crate::actor::{After, Busy, Live, Which};
use crate::command::Then;
use crate::context::thousands;

impl Live {
    pub(crate) async fn compress(&mut self, rest: &str) -> Then {
        let said = match rest {
            "--preview" => self.preview(),
            "--undo" => self.uncompress().await,
            option if option.starts_with("--") => {
                format!(
                    "there is no {option}: /compress [topic], /compress --preview, /compress --undo"
                )
            }
            topic => return self.compact(topic).await,
        };
        self.notice(said);
        Then::Wait
    }

    async fn compact(&mut self, topic: &str) -> Then {
        let scope = self.work();
        let mut conversation = self.conversation.hand_over();
        // What is typed meanwhile is for the shorter conversation.
        let busy = std::mem::replace(&mut self.opening.busy, Busy::Queue);
        let (passed, after) = {
            let turn = self.prepare(&scope);
            let focus = match topic {
                "" => Focus::Everything,
                topic => Focus::Topic(topic),
            };
            let running = async { turn.compact(&mut conversation, focus).await };
            tokio::pin!(running);
            self.watch(running, &scope).await
        };
        self.opening.busy = busy;
        self.conversation = conversation;
        self.follow();
        self.notice(match passed {
            Passed::Shorter(_) => {
                "nothing is lost: /compress --undo brings the old messages back".to_owned()
            }
            Passed::Same(why) => why,
            Passed::Interrupted => "interrupted; the conversation is as it was".to_owned(),
        });
        match (after, self.waiting.pop_front()) {
            (After::Close, _) => Then::Leave,
            (After::Turn, Some(prompt)) => Then::Ask(prompt),
            (After::Turn, None) => Then::Wait,
        }
    }

    fn preview(&self) -> String {
        let Some(preview) = self.prepare(&self.work()).preview(&self.conversation) else {
            return "there is too little to compact yet".to_owned();
        };
        let (before, after) = preview.tokens;
        let (first, last) = preview.stay;
        format!(
            "/compress would sum up {} of {} messages\n  stays   the first {first} and the last {last}\n  \
             goes    into a summary of at most {} tokens\n  tokens  about {} now, at most {} then\nnothing was changed",
            preview.messages.0 - first - last,
            preview.messages.0,
            thousands(preview.summary),
            thousands(before),
            thousands(after),
        )
    }

    async fn uncompress(&mut self) -> String {
        let restored = self
            .opening
            .store
            .undo_compaction(&self.id, Timestamp::now())
            .await;
        match restored {
            Err(error) => error.to_string(),
            Ok(Restored::Nothing) => {
                "there is no compaction of this conversation to undo".to_owned()
            }
            Ok(Restored::In(id)) => match self.open(Which::Existing(id)).await {
                Err(error) => error.to_string(),
                Ok(()) => {
                    self.conversation.stay_whole();
                    format!(
                        "everything is there again: session {} ({} messages)",
                        self.id,
                        self.conversation.messages().len()
                    )
                }
            },
        }
    }
}
