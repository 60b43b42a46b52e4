//! Tools that change skills, watched: what they change goes into the journal.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use hermes_types::{Args, Availability, CallCx, SessionId, Tool, ToolOutput, ToolSpec};

use super::{Author, By, Journal};

impl Journal {
    /// The tool, with a look at all skills before and after each call.
    pub fn watching(self: &Arc<Self>, tool: Arc<dyn Tool>, author: Author) -> Arc<dyn Tool> {
        Arc::new(Watched {
            journal: self.clone(),
            tool,
            author,
        })
    }
}

struct Watched {
    journal: Arc<Journal>,
    tool: Arc<dyn Tool>,
    author: Author,
}

impl Tool for Watched {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn call<'a>(&'a self, args: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        async move {
            self.journal.look_around(Author::of(By::Outside)).await;
            let output = self.tool.call(args, cx).await;
            let author = self.author.in_session(&cx.scope.session);
            self.journal.look_around(author).await;
            output
        }
        .boxed()
    }

    fn available(&self) -> Availability {
        self.tool.available()
    }

    fn most_per_reply(&self) -> Option<usize> {
        self.tool.most_per_reply()
    }

    fn compacted(&self, session: &SessionId) -> Option<String> {
        self.tool.compacted(session)
    }
}
