//! Calls as a model wrote them, made fit to be sent again: with every later request they are.

use std::collections::{HashMap, HashSet};

use hermes_types::{FunctionCall, Message, ToolCall};
use serde_json::{Map, Value};

use crate::json::{Parsed, arguments};

/// What providers allow a tool's name to be long.
const MAX_NAME: usize = 64;

/// Some models say the same thing twice, or give two calls one id.
pub fn set_apart(calls: &mut Vec<ToolCall>, history: &[Message]) {
    let mut seen = HashSet::new();
    calls.retain(|call| seen.insert((call.function.name.clone(), call.function.arguments.clone())));
    let said = history.iter().flat_map(|message| &message.tool_calls);
    let mut taken: HashSet<String> = said.map(|call| call.id.clone()).collect();
    for call in calls {
        let id = free_id(&call.id, &taken);
        if id != call.id {
            rename(call, &id);
        }
        taken.insert(id);
    }
}

/// Leaves out calls of a tool that takes only so many in one reply.
pub fn keep_to_limits(calls: &mut Vec<ToolCall>, most: impl Fn(&str) -> Option<usize>) {
    let mut made: HashMap<String, usize> = HashMap::new();
    calls.retain(|call| {
        let name = &call.function.name;
        let Some(most) = most(name) else {
            return true;
        };
        let made = made.entry(name.clone()).or_default();
        *made += 1;
        if *made > most {
            tracing::warn!("a call of {name} was left out: one reply may have {most}");
        }
        *made <= most
    });
}

/// Arguments a provider accepts: what was meant if that is clear, nothing otherwise. False if something was lost.
pub fn settle(function: &mut FunctionCall) -> bool {
    if serde_json::from_str::<Map<String, Value>>(&function.arguments).is_ok() {
        return true;
    }
    let (text, is_whole) = match arguments(&function.arguments) {
        Parsed::Object(args) => (Value::Object(args).to_string(), true),
        Parsed::Truncated | Parsed::Invalid(_) => ("{}".to_owned(), false),
    };
    function.arguments = text;
    is_whole
}

/// A name of no tool, as far as a provider takes it.
pub fn spell(name: &mut String) {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() {
        name.push_str("unnamed");
    }
    if name.len() > MAX_NAME || !name.chars().all(is_plain) {
        let plain = name.chars().map(|c| if is_plain(c) { c } else { '_' });
        *name = plain.take(MAX_NAME).collect();
    }
}

/// The id itself, or the first of `id_2`, `id_3`, … that is free: never a random one, which would differ when
/// the same reply is read again.
fn free_id(id: &str, taken: &HashSet<String>) -> String {
    let id = if id.is_empty() { "call" } else { id };
    let mut free = id.to_owned();
    let mut number = 2;
    while taken.contains(&free) {
        free = format!("{id}_{number}");
        number += 1;
    }
    free
}

/// What other dialects call the id follows it, or is made anew from it.
fn rename(call: &mut ToolCall, id: &str) {
    call.id = id.to_owned();
    if let Some(own) = call.extra.get_mut("call_id") {
        *own = id.into();
    }
    call.extra.remove("response_item_id");
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
        serde_json::from_value(json!({"id": id, "call_id": id, "response_item_id": "fc",
            "function": {"name": name, "arguments": arguments}}))
        .unwrap()
    }

    #[test]
    fn every_call_has_an_id_of_its_own() {
        let history = [Message {
            tool_calls: vec![call("a", "f", "{}")],
            ..Message::assistant("")
        }];
        let mut calls = vec![
            call("a", "f", "1"),
            call("a", "f", "1"),
            call("a", "f", "2"),
            call("b", "f", "3"),
            call("", "f", "4"),
        ];
        set_apart(&mut calls, &history);
        let ids: Vec<_> = calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["a_2", "a_3", "b", "call"]);
        assert_eq!(calls[0].extra["call_id"], "a_2");
        assert_eq!(calls[0].extra.get("response_item_id"), None);
        assert_eq!(calls[2].extra["response_item_id"], "fc");
    }

    #[test]
    fn some_tools_take_only_so_many_calls() {
        let named = ["few", "many", "few", "many", "few"];
        let numbered = named.iter().enumerate();
        let mut calls: Vec<_> = numbered
            .map(|(at, name)| call(&at.to_string(), name, "{}"))
            .collect();
        keep_to_limits(&mut calls, |name| (name == "few").then_some(2));
        let ids: Vec<_> = calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["0", "1", "2", "3"]);
    }

    #[test]
    fn arguments_are_sent_again_as_they_were_meant() {
        let check = |text: &str, expected: &str, whole: bool| {
            let mut call = call("a", "f", text);
            assert_eq!(settle(&mut call.function), whole, "{text}");
            assert_eq!(call.function.arguments, expected);
        };
        check("{\"b\": 1, \"a\": 2}", "{\"b\": 1, \"a\": 2}", true);
        check("{\"a\": 1,}", "{\"a\":1}", true);
        check("", "{}", true);
        check("\"{\\\"a\\\": 1}\"", "{\"a\":1}", true);
        check("{\"a\": \"x", "{}", false);
        check("[1]", "{}", false);
    }

    #[test]
    fn names_no_provider_takes() {
        let check = |name: &str, expected: &str| {
            let mut name = name.to_owned();
            spell(&mut name);
            assert_eq!(name, expected);
        };
        check("web-search_2", "web-search_2");
        check("functions.do it:0", "functions_do_it_0");
        check("", "unnamed");
        check(&"é".repeat(70), &"_".repeat(64));
    }
}
