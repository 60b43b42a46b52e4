//! Images beside a message.

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hermes_types::{Content, ImageUrl, KnownPart, Message, Part, image_kind};
use serde_json::Map;

/// No provider takes larger ones.
const LARGEST: u64 = 20 * 1024 * 1024;

/// A message of the owner's with images; what is wrong with one of them.
pub fn message<'p>(
    text: String,
    images: impl Iterator<Item = &'p Path>,
) -> Result<Message, String> {
    let pictures: Vec<Part> = images.map(part).collect::<Result<_, _>>()?;
    if pictures.is_empty() {
        return Ok(Message::user(text));
    }
    let words = Part::Known(KnownPart::Text {
        text,
        extra: Map::new(),
    });
    let parts = std::iter::once(words).chain(pictures).collect();
    Ok(Message {
        content: Some(Content::Parts(parts)),
        ..Message::user("")
    })
}

/// Whether it can be sent at all; why not.
pub fn check(path: &Path) -> Result<(), String> {
    part(path).map(drop)
}

fn part(path: &Path) -> Result<Part, String> {
    let problem = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let size = fs::metadata(path).map_err(|error| problem(&error))?.len();
    if size > LARGEST {
        return Err(problem(&"larger than 20 MB; make it smaller first"));
    }
    let bytes = fs::read(path).map_err(|error| problem(&error))?;
    let kind = image_kind(&bytes).ok_or_else(|| problem(&"not a PNG, JPEG, GIF or WebP image"))?;
    let url = format!("data:image/{kind};base64,{}", STANDARD.encode(bytes));
    Ok(Part::Known(KnownPart::ImageUrl {
        image_url: ImageUrl {
            url,
            extra: Map::new(),
        },
        extra: Map::new(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_images_are_sent_as_images() {
        let dir = tempfile::tempdir().unwrap();
        let (good, bad) = (dir.path().join("a.png"), dir.path().join("b.png"));
        fs::write(&good, b"\x89PNG\r\n\x1a\n").unwrap();
        fs::write(&bad, b"hello").unwrap();
        let sent = message("look".to_owned(), [good.as_path()].into_iter()).unwrap();
        let Some(Content::Parts(parts)) = sent.content else {
            panic!("{sent:?}");
        };
        assert_eq!(parts.len(), 2);
        let refused = message("look".to_owned(), [bad.as_path()].into_iter()).unwrap_err();
        assert!(
            refused.contains("b.png") && refused.contains("not a PNG"),
            "{refused}"
        );
    }
}
