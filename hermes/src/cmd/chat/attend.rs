//! Two chats in one conversation: whoever comes second is told.

use futures::{Stream, StreamExt};
use hermes_home::{Attendance, Home};
use hermes_types::SessionId;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::wire::say;

/// Lets others know where this chat is, and its owner who else is there, until the handle is dropped.
pub fn attend(
    home: &Home,
    conversations: impl Stream<Item = SessionId> + Send + 'static,
) -> AbortOnDropHandle<()> {
    let home = home.clone();
    let follow = async move {
        tokio::pin!(conversations);
        // It ends when the next one begins.
        let mut _here = None;
        while let Some(conversation) = conversations.next().await {
            _here = begin(&home, &conversation);
        }
    };
    AbortOnDropHandle::new(TaskTracker::new().spawn(follow))
}

fn begin(home: &Home, conversation: &SessionId) -> Option<Attendance> {
    let begun = Attendance::begin(home, conversation.as_str());
    // A home that cannot be written to is told about where it matters more.
    let here = begun
        .inspect_err(|error| tracing::debug!("{conversation}: {error}"))
        .ok()?;
    if let Some(process) = here.others().first() {
        say(&format!(
            "this conversation is open in another Hermes too (process {process}): what is said in one is saved, \
             but the other does not see it"
        ));
    }
    Some(here)
}
