//! The server itself: reads requests, answers them side by side, ends with its input.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hermes_home::Home;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;
use tracing::{debug, error, warn};

use crate::hello::{self, Era};
use crate::lines::{LONGEST_LINE, Line, Lines};
use crate::rpc::{self, BUSY, Fault, INTERNAL, INVALID_REQUEST, Incoming, NO_METHOD, Request};
use crate::tools::{self, Tools};

/// Requests that may run at once; more are refused.
const MOST_RUNNING: usize = 64;
/// With those that wait for a client to read its answers. Then nothing more is read until it does.
const MOST_PENDING: usize = 2 * MOST_RUNNING;
/// How long requests that came before the end of input may take to be answered.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Serves the home of Hermes until `input` ends. An error means that nobody reads the answers any more.
pub async fn serve<R, W>(home: Home, input: R, output: W) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let (answers, waiting) = mpsc::channel(MOST_RUNNING);
    let server = Server {
        tools: Arc::new(Tools::new(home)),
        answers,
        tasks: JoinSet::new(),
        running: Vec::new(),
    };
    let mut writing = std::pin::pin!(write(waiting, output));
    let reading = server.run(Lines::new(BufReader::new(input)));
    tokio::select! {
        written = &mut writing => return written,
        read = reading => read?,
    }
    // Everything answered is in the channel, whose other end is gone now.
    match timeout(LAST_WORDS, writing).await {
        Ok(written) => written,
        Err(_) => Ok(()), // nobody reads; the input has ended, so nobody will
    }
}

async fn write(
    mut answers: mpsc::Receiver<String>,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    while let Some(answer) = answers.recv().await {
        output.write_all(answer.as_bytes()).await?;
        output.flush().await?;
    }
    Ok(())
}

struct Server {
    tools: Arc<Tools>,
    answers: mpsc::Sender<String>,
    tasks: JoinSet<()>,
    /// The requests among the tasks, to be found when one is cancelled or panics.
    running: Vec<(Value, AbortHandle)>,
}

impl Server {
    async fn run(
        mut self,
        mut lines: Lines<impl tokio::io::AsyncBufRead + Unpin>,
    ) -> io::Result<()> {
        let tools = self.tools.clone();
        self.tasks.spawn(async move { tools.events.begin().await });
        loop {
            tokio::select! {
                line = lines.next(), if self.tasks.len() < MOST_PENDING => match line? {
                    Some(line) => self.take(line),
                    None => break,
                },
                Some(ended) = self.tasks.join_next() => self.ended(ended),
            }
        }
        debug!(
            "the input has ended; {} requests are running",
            self.running.len()
        );
        let rest = async {
            while let Some(ended) = self.tasks.join_next().await {
                self.ended(ended);
            }
        };
        if timeout(LAST_WORDS, rest).await.is_err() {
            debug!("requests are given up");
        }
        Ok(())
    }

    fn take(&mut self, line: Line) {
        let line = match line {
            Line::Whole(line) if line.trim_ascii().is_empty() => return,
            Line::Whole(line) => line,
            Line::TooLong => {
                let why = format!("Invalid request: longer than {LONGEST_LINE} bytes");
                return self.refuse(Value::Null, Fault::new(INVALID_REQUEST, why));
            }
        };
        match Incoming::read(&line) {
            Ok(Incoming::Request(request)) => self.start(request),
            Ok(Incoming::Notification { method, params }) => self.note(&method, &params),
            Ok(Incoming::Answer) => debug!("an answer to a request we did not make"),
            Err(fault) => self.refuse(Value::Null, fault),
        }
    }

    fn start(&mut self, request: Request) {
        debug!(id = %request.id, "{}", request.method);
        if self.running.len() >= MOST_RUNNING {
            let why = format!("Busy: {MOST_RUNNING} requests are running");
            return self.refuse(request.id, Fault::new(BUSY, why));
        }
        let (tools, answers) = (self.tools.clone(), self.answers.clone());
        let id = request.id.clone();
        let handle = self.tasks.spawn(async move {
            let result = result(&tools, &request).await;
            send(&answers, &request.id, result).await;
        });
        self.running.push((id, handle));
    }

    /// Answers from a task of its own, because the client may be slow to read.
    fn refuse(&mut self, id: Value, fault: Fault) {
        warn!("refused: {}", fault.message);
        let answers = self.answers.clone();
        self.tasks
            .spawn(async move { send(&answers, &id, Err(fault)).await });
    }

    fn note(&mut self, method: &str, params: &Value) {
        debug!("{method}");
        if method == "notifications/cancelled" {
            let cancelled = |(id, _): &&(Value, AbortHandle)| *id == params["requestId"];
            for (_, handle) in self.running.iter().filter(cancelled) {
                handle.abort();
            }
        }
    }

    /// A cancelled request has no answer, a broken one has.
    fn ended(&mut self, ended: Result<(), tokio::task::JoinError>) {
        if let Err(broken) = ended
            && broken.is_panic()
        {
            error!("a request broke: {broken}");
            let found = self
                .running
                .iter()
                .find(|(_, task)| task.id() == broken.id());
            if let Some((id, _)) = found {
                self.refuse(id.clone(), Fault::new(INTERNAL, "Internal error"));
            }
        }
        self.running.retain(|(_, task)| !task.is_finished());
    }
}

async fn send(answers: &mpsc::Sender<String>, id: &Value, result: Result<Value, Fault>) {
    // The writer is gone only when the whole server is about to be.
    let _ = answers.send(rpc::answer(id, result)).await;
}

async fn result(tools: &Tools, request: &Request) -> Result<Value, Fault> {
    let era = Era::of(request)?;
    let result = match (request.method.as_str(), era) {
        ("initialize", Era::Legacy) => hello::initialize(&request.params),
        ("server/discover", Era::Modern) => hello::discover(),
        ("ping", Era::Legacy) => json!({}),
        ("tools/list", _) => json!({"tools": tools::list()}),
        ("tools/call", _) => tools.call(&request.params).await?,
        (method, _) => {
            let why = format!("Method not found: {method}");
            return Err(Fault::new(NO_METHOD, why));
        }
    };
    Ok(era.finish(&request.method, result))
}
