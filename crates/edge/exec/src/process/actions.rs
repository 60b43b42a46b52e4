//! The actions of the `process` tool.

use std::sync::Arc;
use std::time::Duration;

use hermes_home::clock;
use hermes_proc::last_chars;
use hermes_types::{Args, CallCx, Outcome, ToolOutput};
use serde_json::{Map, Value, json};

use super::Process;
use super::job::{End, Job, Origin};

const LOG_LINES: usize = 200;

impl Process {
    pub(super) async fn act(&self, args: &Args, cx: &CallCx) -> ToolOutput {
        let action = args
            .get("action")
            .and_then(Value::as_str)
            .unwrap_or_default();
        self.processes.meet(&cx.scope.session).await;
        if action == "list" {
            return self.list(cx);
        }
        let id = match args.get("session_id") {
            Some(Value::String(id)) if !id.is_empty() => id.clone(),
            Some(Value::Number(id)) => id.to_string(),
            _ => return ToolOutput::failed(format!("session_id is required for {action}")),
        };
        let Some(job) = self.processes.get(&id) else {
            let gone = json!({"status": "not_found", "error": format!("No process with ID {id}")});
            return ToolOutput::json(&gone).with_outcome(Outcome::Failed);
        };
        match action {
            "poll" => self.poll(&job),
            "log" => self.log(&job, args),
            "wait" => self.wait(&job, args, cx).await,
            "kill" => self.kill(&job).await,
            "write" | "submit" => self.write(&job, action, args).await,
            "close" => self.close(&job).await,
            other => ToolOutput::failed(format!(
                "Unknown action '{other}'; use list, poll, log, wait, kill, write, submit or close"
            )),
        }
    }

    fn list(&self, cx: &CallCx) -> ToolOutput {
        let jobs = self.processes.of(&cx.scope.session);
        let listed: Vec<Value> = jobs.iter().map(|job| self.entry(job)).collect();
        ToolOutput::json(&json!({"processes": listed}))
    }

    fn entry(&self, job: &Job) -> Value {
        let end = job.end();
        let started = jiff::Timestamp::try_from(job.started_at).unwrap_or_default();
        let started = clock::local(started);
        let command: String = job.command.chars().take(200).collect();
        let mut entry = json!({
            "session_id": job.id,
            "command": self.redactor.apply(&command),
            "cwd": job.cwd.display().to_string(),
            "pid": job.pid,
            "started_at": started.strftime("%Y-%m-%dT%H:%M:%S").to_string(),
            "uptime_seconds": job.uptime().as_secs(),
            "status": status(end),
            "output_preview": self.last_output(job, 200),
        });
        add_end(&mut entry, job, end);
        entry
    }

    fn poll(&self, job: &Job) -> ToolOutput {
        let end = job.end();
        let mut answer = json!({
            "session_id": job.id,
            "command": self.redactor.apply(&job.command),
            "status": status(end),
            "pid": job.pid,
            "uptime_seconds": job.uptime().as_secs(),
            "output_preview": self.last_output(job, 1000),
        });
        add_end(&mut answer, job, end);
        if job.origin == Origin::Found {
            answer["note"] = "Found again after a restart: its output cannot be read".into();
        }
        seen(job, end);
        ToolOutput::json(&answer)
    }

    fn log(&self, job: &Job, args: &Args) -> ToolOutput {
        let end = job.end();
        let output = self.output(job);
        let lines: Vec<&str> = output.lines().collect();
        let number = |name: &str| args.get(name).and_then(Value::as_u64);
        let limit = number("limit").map_or(LOG_LINES, |limit| limit.max(1) as usize);
        let start = match number("offset") {
            Some(offset) if offset > 0 => (offset as usize).min(lines.len()),
            _ => lines.len().saturating_sub(limit),
        };
        let shown = &lines[start..(start.saturating_add(limit)).min(lines.len())];
        seen(job, end);
        ToolOutput::json(&json!({
            "session_id": job.id,
            "status": status(end),
            "output": shown.join("\n"),
            "total_lines": lines.len(),
            "showing": format!("{} lines", shown.len()),
        }))
    }

    async fn wait(&self, job: &Job, args: &Args, cx: &CallCx) -> ToolOutput {
        let asked = args
            .get("timeout")
            .and_then(Value::as_u64)
            .map(Duration::from_secs);
        let limit = asked.unwrap_or(self.max_wait).min(self.max_wait);
        let limit = cx.scope.remaining().map_or(limit, |left| left.min(limit));
        let mut answer = Map::new();
        let outcome = tokio::select! {
            biased;
            () = job.wait() => {
                answer.insert("status".to_owned(), "exited".into());
                answer.insert("exit_code".to_owned(), job.end().and_then(|end| end.exit_code).into());
                answer.insert("output".to_owned(), self.last_output(job, 2000).into());
                seen(job, job.end());
                Outcome::Done
            }
            () = cx.scope.cancel.cancelled() => {
                answer.insert("status".to_owned(), "interrupted".into());
                answer.insert("output".to_owned(), self.last_output(job, 1000).into());
                Outcome::Cancelled
            }
            () = tokio::time::sleep(limit) => {
                answer.insert("status".to_owned(), "timeout".into());
                answer.insert("output".to_owned(), self.last_output(job, 1000).into());
                let note = format!("Still running after {} s", limit.as_secs());
                answer.insert("timeout_note".to_owned(), note.into());
                Outcome::Done
            }
        };
        if asked.is_some_and(|asked| asked > self.max_wait) {
            let most = self.max_wait.as_secs();
            let note = format!("The wait was cut to {most} s (terminal.timeout)");
            answer.insert("timeout_note".to_owned(), note.into());
        }
        ToolOutput::json(&Value::Object(answer)).with_outcome(outcome)
    }

    async fn kill(&self, job: &Arc<Job>) -> ToolOutput {
        if let Some(end) = job.end() {
            seen(job, Some(end));
            return ToolOutput::json(
                &json!({"status": "already_exited", "session_id": job.id, "exit_code": end.exit_code}),
            );
        }
        self.processes.kill(job).await;
        ToolOutput::json(&json!({"status": "killed", "session_id": job.id}))
    }

    async fn write(&self, job: &Job, action: &str, args: &Args) -> ToolOutput {
        let mut data = match args.get("data") {
            Some(Value::String(data)) => data.clone(),
            None | Some(Value::Null) => String::new(),
            Some(other) => other.to_string(),
        };
        if action == "submit" {
            data.push('\n');
        }
        if job.end().is_some() {
            return ToolOutput::failed("The process has already ended");
        }
        let mut input = job.input.lock().await;
        let Some(open) = input.as_mut() else {
            return ToolOutput::failed("The process has no open input");
        };
        // A program that doesn't read must not hold up the call for ever.
        match tokio::time::timeout(self.max_wait, open.write(data.as_bytes())).await {
            Ok(Ok(())) => ToolOutput::json(&json!({"status": "ok", "bytes_written": data.len()})),
            Ok(Err(error)) => ToolOutput::failed(format!("Writing failed: {error}")),
            Err(_) => ToolOutput::failed("The process does not read its input"),
        }
    }

    async fn close(&self, job: &Job) -> ToolOutput {
        match job.input.lock().await.take() {
            Some(_) => ToolOutput::json(&json!({"status": "ok", "message": "The input is closed"})),
            None => ToolOutput::failed("The process has no open input"),
        }
    }

    fn output(&self, job: &Job) -> String {
        let said = job.state().output.text().to_owned();
        job.shown(&said, &self.redactor)
    }

    fn last_output(&self, job: &Job, chars: usize) -> String {
        last_chars(&self.output(job), chars).to_owned()
    }
}

fn status(end: Option<End>) -> &'static str {
    match end {
        Some(_) => "exited",
        None => "running",
    }
}

fn add_end(answer: &mut Value, job: &Job, end: Option<End>) {
    if let Some(end) = end {
        answer["exit_code"] = end.exit_code.into();
    }
    if job.origin == Origin::Found {
        answer["detached"] = true.into();
    }
}

/// The model is told of this end; no notice is needed. A later one it has not seen.
fn seen(job: &Job, end: Option<End>) {
    if end.is_some() {
        job.state().end_seen = true;
    }
}
