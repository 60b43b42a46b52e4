//! All children of one call: at the same time, each with its own clock, all under the call's.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::join_all;
use hermes_types::{CallCx, ToolOutput};
use tokio::task::JoinHandle;

use super::args::Task;
use super::child::{Child, End, live};
use super::limits::Timing;
use super::record::Stage;
use super::report::{How, output};
use super::{Delegate, one_line};

impl Delegate {
    /// Reports in the order of the tasks; each task gets exactly one.
    pub(super) async fn run(&self, tasks: Vec<Task>, cx: &CallCx) -> ToolOutput {
        let started = Instant::now();
        let numbered = tasks.into_iter().enumerate();
        let children: Vec<Child> = numbered
            .map(|(index, task)| Child::new(index, task, cx))
            .collect();
        // A call that is dropped takes its children with it.
        let tokens = children.iter().map(|child| child.scope.cancel.clone());
        let _guards: Vec<_> = tokens.map(|token| token.drop_guard()).collect();
        // Boxed one by one: a closure that lends its child makes the whole turn unable to change threads.
        let mut waits = Vec::with_capacity(children.len());
        for child in &children {
            waits.push(self.wait(child, cx).boxed());
        }
        let reports = tokio::select! {
            reports = join_all(waits) => reports,
            never = self.beat(&children, cx) => match never {},
        };
        output(reports, started.elapsed())
    }

    async fn wait(&self, child: &Child, cx: &CallCx) -> super::report::Report {
        let timing = &self.config.timing;
        let running = live(self.clone(), child.clone(), cx.clone());
        let mut running = self.services.tasks.spawn(running);
        let how = tokio::select! {
            biased;
            ended = &mut running => how(ended.unwrap_or(End::Abandoned)),
            () = cx.scope.cancel.cancelled() => interrupted(running, timing.answer).await,
            () = after(timing.timeout) => {
                let stage = child.record.known().stage;
                child.scope.cancel.cancel();
                // It ends within its grace.
                let _ = running.await;
                How::TimedOut(stage)
            }
        };
        self.report(child, how, cx).await
    }

    /// A sign of life now and then, as long as there is any.
    async fn beat(&self, children: &[Child], cx: &CallCx) -> Infallible {
        let timing = &self.config.timing;
        let mut pulses = vec![Pulse::default(); children.len()];
        loop {
            tokio::time::sleep(timing.beat).await;
            let lively = children
                .iter()
                .zip(&mut pulses)
                .filter_map(|(child, pulse)| {
                    let known = child.record.known();
                    let beats = pulse.goes_on(child.record.pulse(), timing);
                    (known.stage != Stage::Over && beats).then(|| {
                        let doing = known.running.first().map_or("thinking", |(_, tool)| tool);
                        let goal = one_line(&child.task.goal);
                        format!("{}. {goal}: {doing}", child.index + 1)
                    })
                });
            let lively: Vec<String> = lively.collect();
            if !lively.is_empty() {
                cx.progress.tell(&lively.join("; "));
            }
        }
    }
}

fn how(end: End) -> How {
    match end {
        End::Turn(end) => How::Ended(end),
        End::Failed(reason) => How::Failed(reason),
        End::Abandoned => How::Interrupted,
    }
}

/// The child is stopping by itself; what it still says is waited for, but not long.
async fn interrupted(running: JoinHandle<End>, answer: Duration) -> How {
    let _ = tokio::time::timeout(answer, running).await;
    How::Interrupted
}

async fn after(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}

/// Whether a child still gets anywhere.
#[derive(Clone, Debug, Default)]
struct Pulse {
    steps: u64,
    /// Beats since the last step.
    still: u32,
}

impl Pulse {
    fn goes_on(&mut self, (steps, in_tool): (u64, bool), timing: &Timing) -> bool {
        if steps == self.steps {
            self.still += 1;
        } else {
            *self = Self { steps, still: 0 };
        }
        let most = match in_tool {
            true => timing.tool_beats,
            false => timing.idle_beats,
        };
        self.still < most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_gets_nowhere_gives_no_sign_of_life() {
        let timing = Timing::default();
        let signs = |in_tool: bool| {
            let mut pulse = Pulse::default();
            pulse.goes_on((1, in_tool), &timing);
            (0..100)
                .take_while(|_| pulse.goes_on((1, in_tool), &timing))
                .count()
        };
        assert_eq!((signs(false), signs(true)), (14, 39));
        let mut pulse = Pulse::default();
        assert!((0..100).all(|step| pulse.goes_on((step, false), &timing)));
    }
}
