//! An operation on the wire: pages of a list, or one request with as many rounds as the server needs input for.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::calls::Activity;
use crate::content::{self, Prompt, PromptMessages, Resource, ResourceContents, ToolResult};
use crate::failure::{Class, Failure};
use crate::generation::Generation;
use crate::listing;
use crate::mirror;
use crate::operation::{Answer, Operation};
use crate::server::Catalog;

/// A server that asks more often than this never stops.
const MAX_ROUNDS: usize = 10;

pub(crate) async fn run(
    generation: &Generation,
    operation: &Operation,
    id: u64,
    activity: &Arc<Activity>,
    catalog: &Catalog,
) -> Result<Answer, Failure> {
    let method = operation.method();
    match operation {
        Operation::ListResources => {
            let listed = listing::list(generation, id, method, "resources").await?;
            Ok(Answer::Resources(
                listed
                    .items
                    .into_iter()
                    .filter_map(Resource::read)
                    .collect(),
            ))
        }
        Operation::ListPrompts => {
            let listed = listing::list(generation, id, method, "prompts").await?;
            Ok(Answer::Prompts(
                listed.items.into_iter().filter_map(Prompt::read).collect(),
            ))
        }
        Operation::CallTool { .. } => {
            let result = rounds(generation, operation, id, activity, catalog).await?;
            Ok(Answer::Tool(ToolResult::read(result)))
        }
        Operation::ReadResource { .. } => {
            let mut result = rounds(generation, operation, id, activity, catalog).await?;
            let contents = content::list(&mut result, "contents");
            Ok(Answer::Contents(
                contents
                    .into_iter()
                    .filter_map(ResourceContents::read)
                    .collect(),
            ))
        }
        Operation::GetPrompt { .. } => {
            let result = rounds(generation, operation, id, activity, catalog).await?;
            Ok(Answer::Prompt(PromptMessages::read(result)))
        }
    }
}

async fn rounds(
    generation: &Generation,
    operation: &Operation,
    first_id: u64,
    activity: &Arc<Activity>,
    catalog: &Catalog,
) -> Result<Value, Failure> {
    let tool = match operation {
        Operation::CallTool { name, .. } => catalog.tools.iter().find(|tool| tool.name == *name),
        _ => None,
    };
    let mirrored = mirror::headers(operation, tool.map(|tool| &**tool));
    let mut params = operation.params();
    if matches!(operation, Operation::CallTool { .. }) {
        params["_meta"] = json!({"progressToken": first_id});
    }
    let mut id = first_id;
    for _ in 0..MAX_ROUNDS {
        let method = operation.method();
        let mut result = generation
            .request(id, method, params.clone(), mirrored.clone())
            .await?;
        if result["resultType"] != "input_required" {
            return Ok(result);
        }
        params["inputResponses"] = answers(generation, activity, &mut result).await?;
        match result.get_mut("requestState").map(Value::take) {
            Some(state) => params["requestState"] = state,
            None => drop(
                params
                    .as_object_mut()
                    .and_then(|fields| fields.remove("requestState")),
            ),
        }
        id = generation.new_id();
    }
    let message = format!("the server asked for input more than {MAX_ROUNDS} times");
    Err(Failure::new(Class::App, "Protocol error", message))
}

/// Answers what the server needs to know before it goes on.
async fn answers(
    generation: &Generation,
    activity: &Arc<Activity>,
    result: &mut Value,
) -> Result<Value, Failure> {
    let Some(Value::Object(requests)) = result.get_mut("inputRequests").map(Value::take) else {
        return Ok(json!({}));
    };
    let mut answers = Map::new();
    for (key, mut request) in requests {
        let params = request
            .get_mut("params")
            .map(Value::take)
            .unwrap_or_default();
        let method = request["method"].as_str().unwrap_or_default();
        let answer = generation
            .desk
            .answer(method, params, Some(Arc::clone(activity)))
            .await;
        let answer = answer.map_err(|(_, refusal)| {
            Failure::new(
                Class::App,
                "Input refused",
                format!("the server asked for {method}: {refusal}"),
            )
        })?;
        answers.insert(key, answer);
    }
    Ok(Value::Object(answers))
}
