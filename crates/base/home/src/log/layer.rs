//! From a tracing event to the files that want it.

use std::io::{self, Write};

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use super::component::{Component, is_ours, logger};
use super::file::{LogFile, Rotation};
use super::line::{self, SessionField};
use super::{Console, Level, LogName, Role, Settings};
use crate::redact::Redactor;

/// Writes each event as a line to every sink that wants it.
pub(super) struct LogLayer {
    sinks: Vec<Sink>,
    redactor: Redactor,
}

struct Sink {
    output: Output,
    level: Level,
    only: Option<Component>,
}

enum Output {
    File(LogFile),
    Stderr,
}

/// The session a span belongs to, kept with the span.
struct Session(String);

impl LogLayer {
    pub(super) fn new(settings: &Settings) -> Self {
        let file = |name: LogName, rotation| {
            Output::File(LogFile::new(
                name.path(&settings.dir),
                rotation,
                settings.access,
            ))
        };
        let sink = |output, level| Sink {
            output,
            level,
            only: None,
        };
        let mut sinks = vec![
            sink(file(LogName::Agent, settings.rotation), settings.level),
            sink(
                file(LogName::Errors, Rotation::megabytes(2, 2)),
                Level::Warning,
            ),
        ];
        if settings.role == Role::Gateway {
            let output = file(LogName::Gateway, Rotation::megabytes(5, 3));
            sinks.push(Sink {
                only: Some(Component::Gateway),
                ..sink(output, Level::Info)
            });
        }
        match settings.console {
            Console::Quiet => {}
            Console::Warnings => sinks.push(sink(Output::Stderr, Level::Warning)),
            Console::Debug => sinks.push(sink(Output::Stderr, Level::Debug)),
        }
        Self {
            sinks,
            redactor: settings.redactor,
        }
    }

    fn wants_event(&self, meta: &Metadata<'_>) -> bool {
        let level = Level::of(*meta.level());
        let quiet_enough = is_ours(meta.target()) || level >= Level::Warning;
        quiet_enough
            && *meta.level() != tracing::Level::TRACE
            && self.sinks.iter().any(|sink| level >= sink.level)
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for LogLayer {
    fn enabled(&self, meta: &Metadata<'_>, _: Context<'_, S>) -> bool {
        // A span matters only for the session it names; all others cost nothing this way.
        let names_session =
            || is_ours(meta.target()) && meta.fields().field(line::SESSION).is_some();
        if meta.is_span() {
            names_session()
        } else {
            self.wants_event(meta)
        }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        // Session spans, which are of level INFO, must be seen even where only warnings are written.
        let verbose = self.sinks.iter().any(|sink| sink.level == Level::Debug);
        Some(if verbose {
            LevelFilter::DEBUG
        } else {
            LevelFilter::INFO
        })
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut session = SessionField::default();
        attributes.record(&mut session);
        remember(session, id, &context);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let mut session = SessionField::default();
        values.record(&mut session);
        remember(session, id, &context);
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let meta = event.metadata();
        let (level, logger) = (Level::of(*meta.level()), logger(meta.target()));
        let span_session = context.event_scope(event).and_then(|mut scope| {
            scope.find_map(|span| {
                span.extensions()
                    .get::<Session>()
                    .map(|session| session.0.clone())
            })
        });
        let lines = line::format(event, level, &logger, span_session, self.redactor);
        for sink in &self.sinks {
            let wanted =
                level >= sink.level && sink.only.is_none_or(|component| component.owns(&logger));
            if wanted {
                sink.output.write(&lines);
            }
        }
    }
}

fn remember<S: Subscriber + for<'a> LookupSpan<'a>>(
    session: SessionField,
    id: &Id,
    context: &Context<'_, S>,
) {
    if let (Some(session), Some(span)) = (session.0, context.span(id)) {
        span.extensions_mut().replace(Session(session));
    }
}

impl Output {
    fn write(&self, lines: &str) {
        match self {
            Self::File(file) => file.append(lines),
            // A closed terminal is no reason to stop working.
            Self::Stderr => drop(io::stderr().lock().write_all(lines.as_bytes())),
        }
    }
}
