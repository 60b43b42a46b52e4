//! What a reply cost, from a table of list prices.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use hermes_types::{Cost, Payee, Usage};
use serde::Deserialize;

use crate::route::Route;

/// Dollars per million tokens; a price nobody published is missing.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Price {
    input: Option<f64>,
    output: Option<f64>,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

static PRICES: LazyLock<BTreeMap<String, Price>> =
    LazyLock::new(|| crate::data::read(include_str!("../data/prices.yaml")));

/// An estimate, if every kind of token that was used has a price.
pub(crate) fn of(route: &Route, usage: &Usage) -> Cost {
    let to = Payee {
        provider: route.provider.clone(),
        base_url: route.base_url.to_string(),
        model: route.model.clone(),
    };
    let unknown = Cost {
        usd: None,
        status: "unknown".to_owned(),
        source: "none".to_owned(),
        to: to.clone(),
    };
    if !route.quirks.list_prices {
        return unknown;
    }
    match price(&route.model).and_then(|price| amount(price, usage)) {
        Some(usd) => Cost {
            usd: Some(usd),
            status: "estimated".to_owned(),
            source: "builtin".to_owned(),
            to,
        },
        None => unknown,
    }
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
