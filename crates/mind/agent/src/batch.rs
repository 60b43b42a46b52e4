//! Running the calls of one reply: together where they can't disturb each other, in order otherwise.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::{FutureExt, StreamExt};
use hermes_types::{Args, Parallel, ToolOutput};

use crate::pipeline::{Pipeline, not_started};

/// Calls running at the same time.
const WORKERS: usize = 16;

/// A call that may run.
#[derive(Clone, Debug)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub args: Args,
}

/// Results in the order of the calls; each call gets exactly one.
pub async fn run(pipeline: &Arc<Pipeline>, calls: &[Call]) -> Vec<ToolOutput> {
    let mut outputs = Vec::with_capacity(calls.len());
    for segment in segments(pipeline, calls) {
        if pipeline.scope.is_cancelled() {
            for call in segment {
                let output = not_started();
                pipeline.unseen(&call.name, &output).await;
                outputs.push(output);
            }
            continue;
        }
        // Boxed one by one: a closure that lends its call makes the whole turn unable to change threads.
        let mut running = Vec::with_capacity(segment.len());
        for call in segment {
            running.push(
                pipeline
                    .run(&call.id, &call.name, call.args.clone())
                    .boxed(),
            );
        }
        let running = futures::stream::iter(running).buffered(WORKERS);
        outputs.extend(running.collect::<Vec<_>>().await);
    }
    outputs
}

/// A file a running call is about.
struct Claim {
    path: PathBuf,
    writes: bool,
}

/// Runs of neighbours that may overlap.
fn segments<'c>(pipeline: &Pipeline, calls: &'c [Call]) -> Vec<&'c [Call]> {
    let mut segments = Vec::new();
    let mut start = 0;
    let mut claimed: Vec<Claim> = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        let (parallel, claims) = claims(pipeline, call);
        let clashes = claims
            .iter()
            .any(|claim| claimed.iter().any(|other| disturb(claim, other)));
        let alone =
            parallel == Parallel::Never || parallel == Parallel::ByPath && claims.is_empty();
        if (clashes || alone) && start < index {
            segments.push(&calls[start..index]);
            start = index;
            claimed.clear();
        }
        if alone {
            segments.push(&calls[index..=index]);
            start = index + 1;
        } else {
            claimed.extend(claims);
        }
    }
    segments.push(&calls[start..]);
    segments.retain(|segment| !segment.is_empty());
    segments
}

/// How a call may run, and the files it is about. One that may always run beside others only reads.
fn claims(pipeline: &Pipeline, call: &Call) -> (Parallel, Vec<Claim>) {
    let Some(tool) = pipeline.toolbox.get(&call.name) else {
        return (Parallel::Never, Vec::new());
    };
    let spec = tool.spec();
    let cwd = pipeline.workspace.cwd();
    let writes = spec.parallel == Parallel::ByPath;
    let paths = (spec.paths)(&call.args).into_iter();
    (
        spec.parallel,
        paths
            .map(|path| Claim {
                path: cwd.join(path),
                writes,
            })
            .collect(),
    )
}

fn disturb(a: &Claim, b: &Claim) -> bool {
    (a.writes || b.writes) && overlap(&a.path, &b.path)
}

fn overlap(a: &Path, b: &Path) -> bool {
    a.starts_with(b) || b.starts_with(a)
}
