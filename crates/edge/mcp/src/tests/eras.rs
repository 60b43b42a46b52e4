//! Finding out which generation of the protocol a server speaks.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::double::{Reaction, World, call, fail, tool, well};
use crate::config::EraChoice;
use crate::failure::{Class, Failure};
use crate::link::Era;
use crate::server::State;

fn modern() -> Reaction {
    Reaction::Answer(json!({
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "new", "version": "2"},
    }))
}

fn wrong_version(spoken: &str) -> Reaction {
    let failure = Failure::new(Class::App, "HTTP 400", "unsupported protocol version");
    Reaction::Fail(
        failure
            .with_code(-32022)
            .with_versions(vec![spoken.to_owned()]),
    )
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_refused_and_spoken_is_tried_again() {
    let world = World::new(|_, request| match (request.method, request.id) {
        ("server/discover", 0) => wrong_version("2026-07-28"),
        ("server/discover", _) => modern(),
        _ => well(),
    });
    let server = world.serve(|config| config.era = EraChoice::Auto);
    assert_eq!(server.settled().await, State::Ready);
    assert_eq!(server.status().era, Some(Era::Modern));
    assert_eq!(server.catalog().borrow().server, "new 2");
    assert_eq!(world.count("initialize"), 0);
    call(&server, &tool("read")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_server_of_the_older_era_is_greeted_in_its_way() {
    let refusals: [fn() -> Reaction; 3] = [
        || wrong_version("2025-11-25"),
        || fail(Class::App, "method not found"),
        || Reaction::Hang,
    ];
    for refusal in refusals {
        let world = World::new(move |_, request| match request.method {
            "server/discover" => refusal(),
            _ => well(),
        });
        let server = world.serve(|config| config.era = EraChoice::Auto);
        assert_eq!(server.settled().await, State::Ready);
        assert_eq!(server.status().era, Some(Era::Legacy));
        assert_eq!(world.count("server/discover"), 1);
    }
}
