//! One attempt to get a working connection: dial, shake hands, read the list of tools.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::calls::Calls;
use crate::desk::Desk;
use crate::failure::{Class, Failure};
use crate::generation::{Generation, Parts};
use crate::handshake::{self, Introduction};
use crate::link::{Dial, Era, INBOX};
use crate::listing;
use crate::server::{Catalog, Sampler};
use crate::shared::Shared;
use crate::supervisor::Permission;

/// Statuses of a refused handshake that tell a server of the transport before this one.
const OLD_SERVER: [u16; 3] = [400, 404, 405];

/// One attempt to get a working connection.
pub(crate) struct Opening<'a> {
    pub shared: &'a Arc<Shared>,
    pub introduction: &'a Introduction,
    pub sampler: Option<Arc<dyn Sampler>>,
    pub permission: Option<Permission>,
    pub changed: Arc<Notify>,
    pub known: Option<Era>,
}

pub(crate) struct Opened {
    pub generation: Generation,
    pub catalog: Catalog,
    /// The way that led there.
    pub dial: Arc<dyn Dial>,
}

impl Opening<'_> {
    pub(crate) async fn open(&self, dial: Arc<dyn Dial>) -> Result<Opened, Failure> {
        if let Some(permission) = &self.permission
            && let Err(why) = permission(&self.shared.config).await
        {
            return Err(Failure::new(Class::Setup, "Refused to start", why));
        }
        match self.connect(Arc::clone(&dial)).await {
            Err(failure) if failure.class == Class::Auth => {
                self.shared
                    .auth
                    .recover(failure.refused.map(|refused| *refused).unwrap_or_default())
                    .await?;
                self.connect(dial).await
            }
            Err(failure)
                if failure
                    .status
                    .is_some_and(|status| OLD_SERVER.contains(&status)) =>
            {
                match dial.fallback() {
                    // If the older way does not work either, what the newer one said tells more.
                    Some(older) => self.connect(older).await.map_err(|_| failure),
                    None => Err(failure),
                }
            }
            decided => decided,
        }
    }

    async fn connect(&self, dial: Arc<dyn Dial>) -> Result<Opened, Failure> {
        let (inbox, messages) = mpsc::channel(INBOX);
        let link = dial.dial(inbox).await?;
        let calls = Arc::new(Calls::default());
        let desk = Arc::new(Desk {
            server: self.shared.config.name.clone(),
            link: Arc::clone(&link),
            calls: Arc::clone(&calls),
            sampler: self.sampler.clone(),
            elicits: self.shared.config.elicitation,
            changed: Arc::clone(&self.changed),
            timing: self.shared.timing.clone(),
        });
        let closed = CancellationToken::new();
        let desk_guard = closed.clone().drop_guard();
        // The server may ask before it answers the handshake.
        let working = closed.run_until_cancelled_owned(Arc::clone(&desk).run(messages));
        self.shared.tasks.spawn(async move {
            working.await;
        });
        let introduced = self.introduce(desk, desk_guard).await;
        if introduced.is_err() {
            // What does not end in time is killed when it is dropped.
            let _ = timeout(self.shared.timing.stop, link.abandon()).await;
        }
        let (generation, catalog) = introduced?;
        Ok(Opened {
            generation,
            catalog,
            dial,
        })
    }

    async fn introduce(
        &self,
        desk: Arc<Desk>,
        desk_guard: DropGuard,
    ) -> Result<(Generation, Catalog), Failure> {
        let shared = self.shared;
        let hello = handshake::shake(
            &*desk.link,
            self.introduction,
            shared.config.era,
            self.known,
            &shared.timing,
        )
        .await?;
        let number = shared.next_generation.fetch_add(1, Ordering::Relaxed) + 1;
        let generation = Generation::new(Parts {
            number,
            hello,
            desk,
            desk_guard,
            introduction: self.introduction.clone(),
            herd_events: shared.herd.count(),
        });
        let catalog = listing::catalog(&generation).await?;
        Ok((generation, catalog))
    }
}
