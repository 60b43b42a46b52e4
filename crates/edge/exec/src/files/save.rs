//! The one way content gets into a file: checked for masks, in the file's own style, verified, and remembered.

use hermes_home::redact::marks;
use hermes_types::{CallCx, FileError, Stat};

use super::FileServices;
use super::lint::Lint;
use super::outcome::Failure;
use super::place::Place;
use super::text::Before;

/// A finished write.
#[derive(Debug)]
pub(super) struct Saved {
    pub bytes: usize,
    pub lint: Lint,
}

/// Replaces the content of `place` by `text`, whose line ends are plain.
pub(super) async fn save(
    place: &Place,
    before: &Before,
    text: &str,
    services: &FileServices,
    cx: &CallCx,
) -> Result<Saved, Failure> {
    let workspace = &*cx.workspace;
    let bytes = before.style().encode(text);
    workspace.write(&place.real, &bytes).await?;
    let written = workspace.read(&place.real, 0, bytes.len() + 1).await?;
    if written != bytes {
        return Err(Failure::new(format!(
            "{} was written but reads back differently ({} bytes instead of {}). Read it again.",
            place.asked,
            written.len(),
            bytes.len()
        )));
    }
    let stat = workspace.stat(&place.real).await?;
    let session = &cx.scope.session;
    services
        .state
        .was_written(session, &place.real, stat.into());
    let old = before.text().map(|file| file.text.as_str());
    Ok(Saved {
        bytes: bytes.len(),
        lint: Lint::of(&place.real, old, text, &services.checker_env).await,
    })
}

/// Refuses text that holds stand-ins for secrets, unless they stood in the file before: what the model was shown
/// instead of a key must not take the key's place.
pub(super) fn refuse_masks(place: &Place, before: &Before, text: &str) -> Result<(), Failure> {
    let old = before.text().map_or("", |file| file.text.as_str());
    match marks(text).find(|mark| !old.contains(mark)) {
        None => Ok(()),
        Some(mark) => Err(Failure::new(format!(
            "Refused to write {}: the content holds {mark}, which stands for a secret that was hidden from you. \
             Writing it would destroy the real value. Leave that line as it is (patch the lines around it), or \
             ask the owner for the value.",
            place.asked
        ))),
    }
}

/// What is there now; `None`: nothing.
pub(super) async fn look(place: &Place, cx: &CallCx) -> Result<Option<Stat>, Failure> {
    match cx.workspace.stat(&place.real).await {
        Ok(stat) if stat.is_dir => Err(Failure::new(format!("{} is a directory.", place.asked))),
        Ok(stat) => Ok(Some(stat)),
        Err(FileError::NotFound(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
