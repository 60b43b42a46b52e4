//! What a reply cost: by the server's own prices, the registry's, or a table of list prices.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use hermes_types::{Cost, Payee, Usage};
use serde::{Deserialize, Serialize};

use crate::route::Route;

/// Dollars per million tokens; a price nobody published is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Price {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

/// A price, and whose word it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Priced {
    pub price: Price,
    pub source: PriceSource,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriceSource {
    /// The provider's list of models.
    Provider,
    /// The registry models.dev.
    Registry,
    /// The table that comes with Hermes.
    BuiltIn,
}

impl PriceSource {
    /// As it is stored with a session.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Provider => "provider_models_api",
            Self::Registry => "models_dev",
            Self::BuiltIn => "builtin",
        }
    }
}

impl Price {
    /// Dollars for a million tokens in and out, for people; empty if nobody knows.
    pub fn shown(&self) -> [String; 2] {
        let dollars = |amount: Option<f64>| match amount {
            Some(amount) if amount >= 100.0 => format!("${amount:.0}"),
            Some(amount) if amount == 0.0 || amount >= 0.01 => format!("${amount:.2}"),
            Some(amount) => format!("${amount}"),
            None => String::new(),
        };
        [dollars(self.input), dollars(self.output)]
    }

    /// Whether anything is known at all.
    pub(crate) fn is_known(&self) -> bool {
        self.input.is_some() || self.output.is_some()
    }
}

static PRICES: LazyLock<BTreeMap<String, Price>> =
    LazyLock::new(|| crate::data::read(include_str!("../data/prices.json")));

/// An estimate, if every kind of token that was used has a price.
pub(crate) fn of(route: &Route, usage: &Usage) -> Cost {
    let (usd, status, source) = match estimate(route, usage) {
        _ if route.quirks.included => (Some(0.0), "included", "subscription"),
        // A reply that reports no tokens at all has cost something all the same.
        Some((usd, source)) if *usage != Usage::default() => {
            (Some(usd), "estimated", source.as_str())
        }
        _ => return unknown(route),
    };
    Cost {
        usd,
        status: status.to_owned(),
        source: source.to_owned(),
        ..unknown(route)
    }
}

/// Somebody is paid; nobody knows how much.
pub(crate) fn unknown(route: &Route) -> Cost {
    Cost {
        usd: None,
        status: "unknown".to_owned(),
        source: "none".to_owned(),
        to: Payee {
            provider: route.provider.clone(),
            base_url: route.base_url.to_string(),
            model: route.model.clone(),
        },
    }
}

fn estimate(route: &Route, usage: &Usage) -> Option<(f64, PriceSource)> {
    let table = || built_in(&route.model).filter(|_| route.quirks.list_prices);
    let known = route.quirks.price.or_else(table)?;
    Some((amount(known.price, usage)?, known.source))
}

/// The list price of a model.
pub(crate) fn built_in(model: &str) -> Option<Priced> {
    let source = PriceSource::BuiltIn;
    price(model).map(|price| Priced { price, source })
}

fn amount(price: Price, usage: &Usage) -> Option<f64> {
    let buckets = [
        (usage.input, price.input),
        (usage.output, price.output),
        (usage.cache_read, price.cache_read),
        (usage.cache_write, price.cache_write),
    ];
    let used = buckets.into_iter().filter(|(tokens, _)| *tokens > 0);
    let amounts = used.map(|(tokens, price)| price.map(|price| tokens as f64 * price / 1e6));
    amounts.sum()
}

/// The row whose name the model's begins with, if only a date or a release word follows.
fn price(model: &str) -> Option<Price> {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.to_lowercase().replace('.', "-");
    let rows = PRICES
        .iter()
        .filter(|(row, _)| name.strip_prefix(row.as_str()).is_some_and(is_release));
    rows.max_by_key(|(row, _)| row.len())
        .map(|(_, price)| *price)
}

fn is_release(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix(['-', '@', ':']) else {
        return rest.is_empty();
    };
    let is_date = rest.len() >= 4 && rest.starts_with(|c: char| c.is_ascii_digit());
    is_date || rest.starts_with("latest") || rest.starts_with("preview")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_found_by_name() {
        let check = |model, input: Option<f64>| {
            assert_eq!(price(model).and_then(|price| price.input), input, "{model}");
        };
        check("claude-opus-4-5-20251101", Some(5.0));
        check("anthropic/claude-opus-4.6", Some(5.0));
        check("claude-opus-4-20250514", Some(15.0));
        check("claude-opus-4-9", None);
        check("gpt-4o-2024-08-06", Some(2.5));
        check("gpt-4o-mini", None);
        check("openai/o3-mini", Some(1.1));
        check("mock-1", None);
    }

    #[test]
    fn prices_for_people() {
        let shown = |input, output| {
            let (input, output) = (Some(input), output);
            let price = Price {
                input,
                output,
                ..Price::default()
            };
            price.shown()
        };
        assert_eq!(shown(3.0, Some(150.0)), ["$3.00", "$150"]);
        assert_eq!(shown(0.0, None), ["$0.00", ""]);
        assert_eq!(shown(0.0145, Some(0.003)), ["$0.01", "$0.003"]);
    }

    #[test]
    fn a_used_bucket_without_a_price_makes_it_unknown() {
        let usage = Usage {
            input: 1_000_000,
            output: 100_000,
            ..Usage::default()
        };
        let price = price("deepseek-chat").unwrap();
        assert!((amount(price, &usage).unwrap() - 0.168).abs() < 1e-9);
        let cached = Usage {
            cache_read: 1,
            ..usage
        };
        assert_eq!(amount(price, &cached), None);
        assert_eq!(amount(price, &Usage::default()), Some(0.0));
    }
}
