//! Appends messages and prints the id of each once it is acknowledged: `appender FILE SESSION COUNT`.
//!
//! Made to be killed: every id that was printed must be in the file afterwards.
#![allow(clippy::print_stdout)]

use hermes_store::{NewSession, OpenOptions, Store};
use hermes_types::{Message, SessionId};
use jiff::Timestamp;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, path, session, count] = args.as_slice() else {
        return Err("usage: appender FILE SESSION COUNT".into());
    };
    let store = Store::open(path, OpenOptions::default()).await?;
    let session = SessionId::new(session.as_str());
    let new = NewSession::new(session.clone(), "cli");
    store.ensure_session(new).await?;
    for n in 0..count.parse::<u32>()? {
        let message = Message::user(format!("message {n} of {session}"));
        let row = store.append(&session, &message, Timestamp::now()).await?;
        println!("{row}");
    }
    Ok(())
}
