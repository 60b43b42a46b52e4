//! Whether the model for summaries can do its part.

use anyhow::Result;
use hermes_agent::{Compaction, Feasibility};
use hermes_types::{ModelClient, Models, Purpose};

use crate::cmd::Failed;
use crate::wire::{App, say};

/// As set, with what the model for summaries allows; fails if that one is too small for any.
pub fn compaction(app: &App, main: &dyn ModelClient, models: &dyn Models) -> Result<Compaction> {
    let mut compaction = hermes_session::compaction(&app.settings, app.redactor);
    // One that cannot be used now is told about when it is needed.
    let Ok(side) = models.client(&Purpose::Aux("compression")) else {
        return Ok(compaction);
    };
    match Feasibility::of(main.info(), side.info(), &compaction) {
        Feasibility::Fine => {}
        Feasibility::Lowered(ceiling, told) => {
            say(&told);
            compaction.ceiling = Some(ceiling);
        }
        Feasibility::Refused(told) => {
            say(&told);
            return Err(Failed(1).into());
        }
    }
    Ok(compaction)
}
