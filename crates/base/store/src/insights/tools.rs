//! Which tools and skills were used, read from the messages.

use std::collections::HashMap;

use jiff::Timestamp;
use rusqlite::params;
use serde::Serialize;
use serde_json::Value;

use super::InsightsQuery;
use super::rows::IN_RANGE;
use crate::{
    codec,
    connect::Db,
    error::Sql,
    time::{moment, seconds},
};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolCount {
    pub name: String,
    pub calls: i64,
    /// Of all calls.
    pub percent: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SkillCount {
    pub name: String,
    pub loads: i64,
    pub edits: i64,
    pub last_used: Timestamp,
}

/// What the messages of a range say.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    pub roles: HashMap<String, i64>,
    pub tools: Vec<ToolCount>,
    pub skills: Vec<SkillCount>,
}

pub(crate) fn count(db: &Db, query: &InsightsQuery) -> Sql<Counted> {
    let since = seconds(query.since.timestamp());
    let named = |sql: String| -> Sql<HashMap<String, i64>> {
        let mut stmt = db.conn.prepare_cached(&sql)?;
        let rows = stmt.query_map(params![since, query.source], |row| {
            let name = codec::text_of(row.get_ref(0)?).unwrap_or_default();
            Ok((name, row.get(1)?))
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    };
    // Sessions first, so that a few days of a large file are quickly read.
    let from = format!(
        "FROM sessions AS s CROSS JOIN messages AS m ON m.session_id = s.id WHERE {IN_RANGE}"
    );
    let roles = named(format!("SELECT m.role, COUNT(*) {from} GROUP BY m.role"))?;
    let results = named(format!(
        "SELECT m.tool_name, COUNT(*) {from} AND m.role = 'tool' AND m.tool_name IS NOT NULL
         GROUP BY m.tool_name"
    ))?;
    let mut called = Called::default();
    let mut stmt = db.conn.prepare_cached(&format!(
        "SELECT m.tool_calls, m.timestamp {from}
             AND m.role = 'assistant' AND m.tool_calls IS NOT NULL"
    ))?;
    let mut rows = stmt.query(params![since, query.source])?;
    while let Some(row) = rows.next()? {
        let text = codec::text_of(row.get_ref(0)?).unwrap_or_default();
        called.take_in(&text, moment(row.get(1)?));
    }
    Ok(Counted {
        roles,
        tools: tools(results, called.calls),
        skills: skills(called.skills),
    })
}

/// Calls as models wrote them.
#[derive(Default)]
struct Called {
    calls: HashMap<String, i64>,
    skills: HashMap<String, SkillCount>,
}

impl Called {
    /// What cannot be read is not counted; other readers have complained about it already.
    fn take_in(&mut self, text: &str, at: Timestamp) {
        let calls = match serde_json::from_str(text) {
            Ok(Value::Array(calls)) => calls,
            Ok(call @ Value::Object(_)) => vec![call],
            _ => return,
        };
        for call in &calls {
            let function = &call["function"];
            let Some(name) = function["name"].as_str().filter(|name| !name.is_empty()) else {
                continue;
            };
            *self.calls.entry(name.to_owned()).or_default() += 1;
            if matches!(name, "skill_view" | "skill_manage") {
                self.skill(name, &function["arguments"], at);
            }
        }
    }

    fn skill(&mut self, tool: &str, arguments: &Value, at: Timestamp) {
        let parsed = arguments
            .as_str()
            .and_then(|text| serde_json::from_str(text).ok());
        let arguments: &Value = parsed.as_ref().unwrap_or(arguments);
        let Some(name) = arguments["name"].as_str().map(str::trim) else {
            return;
        };
        if name.is_empty() {
            return;
        }
        let skill = self.skills.entry(name.to_owned()).or_default();
        match tool {
            "skill_view" => skill.loads += 1,
            _ => skill.edits += 1,
        }
        skill.last_used = skill.last_used.max(at);
    }
}

/// A call is in both places, unless one of them was not written: the higher count is the true one.
fn tools(results: HashMap<String, i64>, mut calls: HashMap<String, i64>) -> Vec<ToolCount> {
    for (name, count) in results {
        let called = calls.entry(name).or_default();
        *called = (*called).max(count);
    }
    let all: i64 = calls.values().sum();
    let rows = calls.into_iter().map(|(name, calls)| ToolCount {
        name,
        calls,
        percent: calls as f64 * 100.0 / all.max(1) as f64,
    });
    let mut rows: Vec<ToolCount> = rows.collect();
    rows.sort_by(|a, b| (b.calls, &a.name).cmp(&(a.calls, &b.name)));
    rows
}

fn skills(found: HashMap<String, SkillCount>) -> Vec<SkillCount> {
    let rows = found
        .into_iter()
        .map(|(name, row)| SkillCount { name, ..row });
    let mut rows: Vec<SkillCount> = rows.collect();
    rows.sort_by(|a, b| {
        let uses = |skill: &SkillCount| skill.loads + skill.edits;
        (uses(b), &a.name).cmp(&(uses(a), &b.name))
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_once_and_skills_by_what_was_done() {
        let mut called = Called::default();
        let at = |second| Timestamp::from_second(second).unwrap();
        let call = |name: &str, arguments: &str| {
            format!("{{\"function\":{{\"name\":\"{name}\",\"arguments\":{arguments}}}}}")
        };
        let view = call("skill_view", r#""{\"name\":\"tea\"}""#);
        let manage = call("skill_manage", r#"{"name":"tea"}"#);
        let broken = call("skill_view", r#""{\"na""#);
        called.take_in(&format!("[{view},{manage},{broken}]"), at(5));
        called.take_in(&call("terminal", "\"\""), at(6));
        called.take_in("not json", at(7));
        called.take_in("[{\"id\":1},7]", at(8));
        let skills = skills(called.skills);
        assert_eq!(skills.len(), 1);
        assert_eq!(
            (skills[0].loads, skills[0].edits, skills[0].last_used),
            (1, 1, at(5))
        );
        let results = HashMap::from([("terminal".to_owned(), 3), ("web".to_owned(), 1)]);
        let tools = tools(results, called.calls);
        let rows: Vec<(&str, i64)> = tools
            .iter()
            .map(|tool| (tool.name.as_str(), tool.calls))
            .collect();
        assert_eq!(
            rows,
            [
                ("terminal", 3),
                ("skill_view", 2),
                ("skill_manage", 1),
                ("web", 1)
            ]
        );
        assert!((tools[0].percent - 300.0 / 7.0).abs() < 1e-9);
    }
}
