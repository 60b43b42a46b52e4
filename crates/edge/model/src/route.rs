//! One way to reach one model: address, key, dialect, and what is odd about it, as one value.
//!
//! Everything in it belongs together; another provider, key or model is another route.

use std::collections::BTreeMap;
use std::fmt;

use hermes_types::ModelInfo;
use reqwest::Url;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::aws::KeyPair;
use crate::context::ContextLength;
use crate::cost::Priced;

#[derive(Clone, Debug)]
pub struct Route {
    /// Its id in the catalogue, or `custom:<name>` for one of the owner's.
    pub provider: String,
    /// The model's name as this provider spells it.
    pub model: String,
    pub base_url: Url,
    pub key: Key,
    /// Where the owner would put a better key: the name of a variable or setting.
    pub key_name: String,
    pub mode: Mode,
    /// The owner's `model.max_tokens`.
    pub max_output: Option<u64>,
    pub context: ContextLength,
    pub quirks: Quirks,
    pub concessions: Concessions,
}

/// An API key, or what Amazon's requests are signed with. Empty: the server wants none.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Key {
    /// What nobody may see.
    secret: String,
    pair: Option<KeyPair>,
}

/// The language a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    ChatCompletions,
    AnthropicMessages,
    /// OpenAI's Responses.
    CodexResponses,
    /// Gemini's own.
    Gemini,
    /// Amazon's for all models.
    BedrockConverse,
    /// Anthropic's, wrapped by Amazon: for Claude on Bedrock.
    BedrockAnthropic,
}

/// How one provider, host or model differs from the plain dialect. All of it is data from the catalogue.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    pub auth: Auth,
    pub headers: BTreeMap<String, String>,
    /// Headers that carry the session's id: servers keep one conversation together by them.
    pub session_headers: Vec<String>,
    /// The header that names the account a login token belongs to.
    pub account_header: Option<String>,
    /// Fields every request body gets.
    pub body: Map<String, Value>,
    pub output_field: OutputField,
    /// The reply's limit if nobody set one.
    pub output_default: Option<u64>,
    /// Send the model's known ceiling if nobody set a limit: this host's own default is too small.
    pub output_ceiling: bool,
    pub system_role: SystemRole,
    pub effort: EffortField,
    /// Responses: this model refuses to be told how hard to think.
    pub no_effort: bool,
    /// The efforts it knows, weakest first; empty: all of them.
    pub efforts: Vec<String>,
    /// Every assistant message must carry the thinking it came with.
    pub echo_reasoning: bool,
    pub cache: CacheLayout,
    pub cache_ttl: CacheTtl,
    /// Values for `anthropic-beta`.
    pub betas: Vec<String>,
    pub thinking_blocks: ThinkingBlocks,
    pub schema: SchemaFlavour,
    /// What this provider charges is on the public price lists.
    pub list_prices: bool,
    /// Paid for by a subscription: a call costs nothing.
    pub included: bool,
    /// What the server, or the registry of models, says it charges.
    #[serde(skip)]
    pub price: Option<Priced>,
    /// Version numbers in model names stay `4.5`; Anthropic itself writes `4-5`.
    pub keep_dots: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    #[default]
    Bearer,
    /// `x-api-key`.
    ApiKeyHeader,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputField {
    #[default]
    MaxTokens,
    MaxCompletionTokens,
    /// Not at all: an unknown field would be refused.
    Nowhere,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemRole {
    #[default]
    System,
    Developer,
}

/// How a chat-completions server is told how hard to think.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffortField {
    /// Not at all: an unknown field would be refused.
    #[default]
    Nowhere,
    /// `reasoning: {enabled, effort}`.
    Reasoning,
    /// The same, and nothing at all when thinking is off.
    ReasoningUnlessOff,
    /// `reasoning_effort: "high"`.
    ReasoningEffort,
    /// `think: false` to turn it off.
    Think,
    /// `thinking: {type: enabled}` and `reasoning_effort`.
    Thinking,
}

/// Where prompt-cache markers go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheLayout {
    /// The server caches by itself, or not at all.
    #[default]
    Automatic,
    /// On Anthropic's own blocks.
    Native,
    /// On the parts of chat messages.
    Envelope,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum CacheTtl {
    #[default]
    #[serde(rename = "5m")]
    FiveMinutes,
    #[serde(rename = "1h")]
    OneHour,
}

/// Which stored thinking blocks an Anthropic-style server takes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingBlocks {
    /// None: signatures are the original vendor's.
    #[default]
    Dropped,
    /// Signed ones, on the last assistant message.
    Signed,
    /// Only those without a signature.
    Unsigned,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaFlavour {
    #[default]
    Common,
    Anthropic,
    Moonshot,
    Gemini,
}

/// What a server turned out not to take; found by being refused once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Concessions {
    pub no_streaming: bool,
    pub no_betas: bool,
    /// Tool schemas without `pattern` and `format`.
    pub plain_schemas: bool,
    pub no_thinking_blocks: bool,
    /// The model doesn't think, and refuses to be asked about it.
    pub no_reasoning: bool,
    pub no_temperature: bool,
    /// Without a limit of ours on the reply.
    pub no_output_limit: bool,
}

impl Route {
    /// Whether the model runs here or next door: slow is normal there, and silence is not a fault.
    pub fn is_local(&self) -> bool {
        crate::host::is_local(&self.base_url)
    }

    /// For people.
    pub(crate) fn title(&self) -> String {
        format!("{} ({})", self.model, self.provider)
    }

    pub(crate) fn info(&self) -> ModelInfo {
        ModelInfo {
            provider: self.provider.clone(),
            model: self.model.clone(),
            base_url: self.base_url.to_string(),
            context_length: self.context.tokens,
        }
    }
}

impl Mode {
    /// What this server speaks about this model: Amazon has Anthropic's own words for Claude.
    pub(crate) fn for_model(self, model: &str) -> Self {
        match self {
            Self::BedrockConverse if model.contains("anthropic.claude") => Self::BedrockAnthropic,
            mode => mode,
        }
    }
}

impl Quirks {
    /// Has an Ollama server keep this much of a conversation.
    pub(crate) fn keep(&mut self, tokens: u64) {
        let options = json!({"num_ctx": tokens});
        self.body.insert("options".to_owned(), options);
    }
}

impl Key {
    pub fn new(key: impl Into<String>) -> Self {
        Self {
            secret: key.into(),
            pair: None,
        }
    }

    /// One that signs requests and never travels itself.
    pub fn pair(pair: KeyPair) -> Self {
        Self {
            secret: pair.secret.clone(),
            pair: Some(pair),
        }
    }

    pub fn expose(&self) -> &str {
        &self.secret
    }

    pub(crate) fn as_pair(&self) -> Option<&KeyPair> {
        self.pair.as_ref()
    }

    pub fn is_empty(&self) -> bool {
        self.secret.is_empty()
    }

    /// Enough to recognise it: the first 8 and last 4 characters.
    pub fn masked(&self) -> String {
        let length = self.secret.chars().count();
        if length < 18 {
            return "***".to_owned();
        }
        let first: String = self.secret.chars().take(8).collect();
        let last: String = self.secret.chars().skip(length - 4).collect();
        format!("{first}...{last}")
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
