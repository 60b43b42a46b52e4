//! A provider's list of models, read from whatever shape it comes in: name, window, price.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cost::Price;

/// One model on a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ListedModel {
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// How hard it can be told to think, where the list says so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub efforts: Vec<String>,
}

/// The models of a list, in its order; `None` if it isn't one.
pub(crate) fn read(listing: &Value) -> Option<Vec<ListedModel>> {
    let list = listing["data"]
        .as_array()
        .or_else(|| listing["models"].as_array());
    Some(list?.iter().filter_map(model).collect())
}

/// The model of this name: called exactly so, or, if it is the only one, whatever it is called.
pub(crate) fn find<'l>(models: &'l [ListedModel], name: &str) -> Option<&'l ListedModel> {
    let named = models.iter().find(|model| model.id == name);
    match models {
        [only] => named.or(Some(only)),
        _ => named,
    }
}

fn model(entry: &Value) -> Option<ListedModel> {
    let names = ["id", "name", "key"].into_iter();
    let id = names.filter_map(|key| entry[key].as_str()).next()?;
    let efforts = entry["capabilities"]["supports"]["reasoning_effort"].as_array();
    let efforts = efforts.into_iter().flatten().filter_map(Value::as_str);
    let limits = &entry["capabilities"]["limits"];
    // llama.cpp lists what the model was made for; what it was started with, it says elsewhere.
    let meta = match entry["owned_by"] == "llamacpp" {
        true => &Value::Null,
        false => &entry["meta"],
    };
    let window = [entry, meta, limits].into_iter().find_map(window);
    Some(ListedModel {
        id: id.strip_prefix("models/").unwrap_or(id).to_owned(),
        context_length: window,
        price: price(&entry["pricing"]),
        efforts: efforts.map(str::to_owned).collect(),
    })
}

fn window(entry: &Value) -> Option<u64> {
    const NAMES: [&str; 16] = [
        "context_length",
        "context_window",
        "context_size",
        "max_context_length",
        "max_position_embeddings",
        "max_model_len",
        "max_input_tokens",
        "max_sequence_length",
        "max_seq_len",
        "n_ctx_train",
        "n_ctx",
        "ctx_size",
        // Google, GitHub and Vercel.
        "inputTokenLimit",
        "max_prompt_tokens",
        "max_context_window_tokens",
        "context_tokens",
    ];
    NAMES
        .iter()
        .find_map(|name| entry[*name].as_u64())
        .filter(|tokens| *tokens > 0)
}

/// Dollars for one token, as texts or numbers, under either of two vocabularies.
fn price(pricing: &Value) -> Option<Price> {
    let per_million = |names: [&str; 2]| {
        let value = names.into_iter().map(|name| &pricing[name]);
        let dollars = value.filter_map(|value| match value {
            Value::String(text) => text.parse::<f64>().ok(),
            value => value.as_f64(),
        });
        // Routers list -1: it depends.
        let dollars = dollars.into_iter().find(|dollars| *dollars >= 0.0)?;
        Some((dollars * 1e12).round() / 1e6)
    };
    let price = Price {
        input: per_million(["prompt", "input"]),
        output: per_million(["completion", "output"]),
        cache_read: per_million(["input_cache_read", "cache_read"]),
        cache_write: per_million(["input_cache_write", "cache_write"]),
    };
    price.is_known().then_some(price)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn windows_in_lists() {
        let check = |listing: Value, expected| {
            let models = read(&listing).unwrap_or_default();
            let found = find(&models, "m").and_then(|model| model.context_length);
            assert_eq!(found, expected, "{listing}");
        };
        check(json!({"data": [{"id": "m", "context_length": 5}]}), Some(5));
        check(
            json!({"data": [{"id": "x", "n_ctx": 1}, {"id": "m", "max_model_len": 7}]}),
            Some(7),
        );
        check(
            json!({"data": [{"id": "x"}, {"id": "y", "n_ctx": 1}]}),
            None,
        );
        check(
            json!({"data": [{"id": "other.gguf", "meta": {"n_ctx_train": 9}}]}),
            Some(9),
        );
        check(
            json!({"models": [{"name": "models/m", "inputTokenLimit": 3}, {"name": "x"}]}),
            Some(3),
        );
        check(
            json!({"data": [{"id": "m", "capabilities": {"limits": {"max_prompt_tokens": 6}}}, "odd"]}),
            Some(6),
        );
        check(json!({"data": "odd"}), None);
    }

    #[test]
    fn prices_in_lists() {
        let check = |pricing: Value, expected: Option<[f64; 2]>| {
            let found = price(&pricing).map(|price| [price.input.unwrap(), price.output.unwrap()]);
            assert_eq!(found, expected, "{pricing}");
        };
        check(
            json!({"prompt": "0.000003", "completion": "0.000015"}),
            Some([3.0, 15.0]),
        );
        check(json!({"input": 0.0000001, "output": "0"}), Some([0.1, 0.0]));
        check(json!({"prompt": "-1", "completion": "-1"}), None);
        check(Value::Null, None);
        let cached = price(&json!({"prompt": "0.000001", "input_cache_read": "0.0000001"}));
        assert_eq!(cached.unwrap().cache_read, Some(0.1));
    }
}
