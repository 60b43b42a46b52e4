//! Running the calls of one reply: together where they can't disturb each other, in order otherwise.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::StreamExt;
use hermes_types::{Args, Parallel, ToolOutput};

use crate::pipeline::{Pipeline, not_started};

/// Calls running at the same time.
const WORKERS: usize = 8;

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
            outputs.extend(segment.iter().map(|_| not_started()));
            continue;
        }
        let running = segment
            .iter()
            .map(|call| pipeline.run(&call.id, &call.name, call.args.clone()));
        outputs.extend(
            futures::stream::iter(running)
                .buffered(WORKERS)
                .collect::<Vec<_>>()
                .await,
        );
    }
    outputs
}

/// Runs of neighbours that may overlap.
fn segments<'c>(pipeline: &Pipeline, calls: &'c [Call]) -> Vec<&'c [Call]> {
    let mut segments = Vec::new();
    let mut start = 0;
    let mut claimed: Vec<PathBuf> = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        let (parallel, paths) = pipeline
            .toolbox
            .get(&call.name)
            .map_or((Parallel::Never, Vec::new()), |tool| {
                (tool.spec().parallel, (tool.spec().paths)(&call.args))
            });
        let collides = match parallel {
            Parallel::Never => true,
            Parallel::Always => false,
            Parallel::ByPath => {
                paths.is_empty()
                    || paths
                        .iter()
                        .any(|path| claimed.iter().any(|other| overlap(path, other)))
            }
        };
        if collides && start < index {
            segments.push(&calls[start..index]);
            start = index;
            claimed.clear();
        }
        if parallel == Parallel::Never {
            segments.push(&calls[index..=index]);
            start = index + 1;
        } else {
            claimed.extend(paths);
        }
    }
    segments.push(&calls[start..]);
    segments.retain(|segment| !segment.is_empty());
    segments
}

fn overlap(a: &Path, b: &Path) -> bool {
    a.starts_with(b) || b.starts_with(a)
}
