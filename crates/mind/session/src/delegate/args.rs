//! From a call's arguments to tasks.

use hermes_types::Args;
use serde_json::Value;

use super::limits::Delegation;

/// What one child is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Task {
    pub goal: String,
    pub context: String,
    /// Empty: all that the parent has.
    pub toolsets: Vec<String>,
    pub role: Role,
    /// What the caller should know about how the task was understood.
    pub note: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Leaf,
    /// May have children itself.
    Orchestrator,
}

/// The tasks of a call by an agent at this depth, or what is wrong with them. What `tasks` don't say themselves
/// is taken from beside them.
pub(super) fn read(args: &Args, config: &Delegation, depth: u32) -> Result<Vec<Task>, String> {
    if depth >= config.depth {
        return Err(format!(
            "Delegation is only possible {} deep (delegation.max_spawn_depth). Do the task yourself.",
            config.depth
        ));
    }
    let given: Vec<Value> = match args.get("tasks") {
        Some(Value::Array(tasks)) if !tasks.is_empty() => tasks.clone(),
        _ if text(args.get("goal")).is_some() => vec![Value::Object(Args::new())],
        _ => return Err("Give a goal, or a list of tasks with a goal each.".to_owned()),
    };
    if given.len() > config.children {
        return Err(format!(
            "Too many tasks: {}, and at most {} run at the same time (delegation.max_concurrent_children). Send fewer, \
             and the rest in another call.",
            given.len(),
            config.children
        ));
    }
    let numbered = given.iter().enumerate();
    numbered
        .map(|(index, given)| {
            let Value::Object(own) = given else {
                return Err(format!("Task {} is no object with a goal.", index + 1));
            };
            task(own, args, config, depth).ok_or(format!("Task {} has no goal.", index + 1))
        })
        .collect()
}

fn task(own: &Args, around: &Args, config: &Delegation, depth: u32) -> Option<Task> {
    let either = |name: &str| own.get(name).or_else(|| around.get(name));
    // With a list, a goal beside it is not the goal of those without one.
    let goal = match around.get("tasks") {
        Some(Value::Array(tasks)) if !tasks.is_empty() => text(own.get("goal")),
        _ => text(around.get("goal")),
    }?;
    let wanted = either("role").and_then(Value::as_str) == Some("orchestrator");
    let role = match wanted && config.may_orchestrate(depth) {
        true => Role::Orchestrator,
        false => Role::Leaf,
    };
    let refused = wanted && role == Role::Leaf;
    Some(Task {
        goal: goal.to_owned(),
        context: text(either("context")).unwrap_or_default().to_owned(),
        toolsets: names(either("toolsets")),
        role,
        note: refused.then(|| why_no_orchestrator(config)),
    })
}

fn why_no_orchestrator(config: &Delegation) -> String {
    let why = match config.orchestrators {
        true => format!("delegation.max_spawn_depth is {}", config.depth),
        false => "delegation.orchestrator_enabled is off".to_owned(),
    };
    format!("It worked as a leaf: {why}.")
}

fn text(value: Option<&Value>) -> Option<&str> {
    let text = value.and_then(Value::as_str).map(str::trim);
    text.filter(|text| !text.is_empty())
}

fn names(value: Option<&Value>) -> Vec<String> {
    let list = value.and_then(Value::as_array);
    let names = list.into_iter().flatten().filter_map(Value::as_str);
    names.map(|name| name.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_json(args: Value, config: &Delegation) -> Result<Vec<Task>, String> {
        read(args.as_object().unwrap(), config, 0)
    }

    fn leaf(goal: &str, context: &str, toolsets: &[&str]) -> Task {
        Task {
            goal: goal.to_owned(),
            context: context.to_owned(),
            toolsets: toolsets.iter().map(|name| (*name).to_owned()).collect(),
            role: Role::Leaf,
            note: None,
        }
    }

    #[test]
    fn one_goal_or_a_list() {
        let config = Delegation::default();
        let check = |args: Value, expected: &[Task]| {
            assert_eq!(
                read_json(args.clone(), &config).unwrap(),
                expected,
                "{args}"
            );
        };
        check(json!({"goal": " g "}), &[leaf("g", "", &[])]);
        check(json!({"goal": "g", "tasks": []}), &[leaf("g", "", &[])]);
        check(
            json!({"context": "c", "toolsets": ["file"], "tasks": [
                {"goal": "a"}, {"goal": "b", "context": "d", "toolsets": []}]}),
            &[leaf("a", "c", &["file"]), leaf("b", "d", &[])],
        );
    }

    // spec: tools §8.25
    #[test]
    fn what_cannot_be_done_names_the_limit() {
        let config = Delegation::default();
        let check = |args: Value, expected: &str| {
            let error = read_json(args, &config).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        let four: Vec<Value> = (0..4).map(|n| json!({"goal": n.to_string()})).collect();
        check(
            json!({"tasks": four}),
            "at most 3 run at the same time (delegation.max_concurrent_children)",
        );
        check(json!({}), "Give a goal");
        check(json!({"goal": "  "}), "Give a goal");
        check(
            json!({"goal": "g", "tasks": [{"goal": "a"}, {"context": "c"}]}),
            "Task 2 has no goal",
        );
        check(json!({"tasks": ["a"]}), "Task 1 is no object");
        let too_deep = read(json!({"goal": "g"}).as_object().unwrap(), &config, 1);
        assert!(
            too_deep
                .unwrap_err()
                .contains("1 deep (delegation.max_spawn_depth)")
        );
    }

    #[test]
    fn who_may_orchestrate() {
        let check = |depth: u32, orchestrators: bool, expected: Result<(), &str>| {
            let config = Delegation {
                depth,
                orchestrators,
                ..Delegation::default()
            };
            let tasks = read_json(json!({"goal": "g", "role": "orchestrator"}), &config).unwrap();
            match expected {
                Ok(()) => assert_eq!((tasks[0].role, &tasks[0].note), (Role::Orchestrator, &None)),
                Err(why) => assert!(
                    tasks[0].role == Role::Leaf && tasks[0].note.as_ref().unwrap().contains(why)
                ),
            }
        };
        check(2, true, Ok(()));
        check(1, true, Err("max_spawn_depth is 1"));
        check(2, false, Err("orchestrator_enabled"));
    }
}
