//! Where messages can be sent: the gateway's directory of channels, or the chats there have been.

use serde_json::{Map, Value, json};

use crate::records::{Conversation, Records, first, text};

pub(crate) async fn list(records: &Records, platform: Option<&str>) -> Result<Value, String> {
    let path = records.home().dir().join("channel_directory.json");
    let directory = records.json(&path).await;
    let mut channels = match directory["platforms"].as_object() {
        Some(platforms) if !platforms.is_empty() => from_directory(platforms),
        _ => from_chats(&records.conversations().await?),
    };
    if let Some(platform) = platform {
        channels.retain(|channel| channel.platform.eq_ignore_ascii_case(platform));
    }
    let channels: Vec<Value> = channels.iter().map(Channel::json).collect();
    Ok(json!({"count": channels.len(), "channels": channels}))
}

#[derive(Debug, PartialEq)]
struct Channel {
    target: String,
    platform: String,
    name: String,
    chat_type: String,
}

impl Channel {
    fn json(&self) -> Value {
        json!({
            "target": self.target,
            "platform": self.platform,
            "name": self.name,
            "chat_type": self.chat_type,
        })
    }
}

fn from_directory(platforms: &Map<String, Value>) -> Vec<Channel> {
    let entries = platforms.iter().flat_map(|(platform, channels)| {
        let channels = channels.as_array().into_iter().flatten();
        channels.filter_map(move |channel| Some((platform, channel.as_object()?)))
    });
    entries
        .map(|(platform, channel)| {
            let id = first([text(channel, "id"), text(channel, "chat_id")]);
            Channel {
                target: if id.is_empty() {
                    platform.clone() // its home channel
                } else {
                    format!("{platform}:{id}")
                },
                platform: platform.clone(),
                name: first([text(channel, "name"), text(channel, "display_name")]),
                chat_type: text(channel, "type"),
            }
        })
        .collect()
}

/// One for each place, though several people may have a conversation there.
fn from_chats(conversations: &[Conversation]) -> Vec<Channel> {
    let mut found: Vec<Channel> = Vec::new();
    for chat in conversations {
        if chat.platform.is_empty() || chat.chat_id.is_empty() {
            continue;
        }
        let target = format!("{}:{}", chat.platform, chat.chat_id);
        if found.iter().all(|known| known.target != target) {
            found.push(Channel {
                target,
                platform: chat.platform.clone(),
                name: first([chat.display_name.clone(), chat.chat_name.clone()]),
                chat_type: chat.chat_type.clone(),
            });
        }
    }
    found
}
