//! Calls that are one thing on the screen: files looked at one after the other, and the list of what is to be done.
//! Both stand in the live region and change there; they go up once, when they are over.

use hermes_types::Step;

use super::room::Room;
use crate::Row;
use crate::cells::{Detail, Explored, Todo, Tool};

impl Room {
    /// A call that only looked at something.
    pub fn explored(&mut self, call: Tool) {
        if let Some(turn) = &mut self.turn {
            turn.explored.calls.push(call);
        }
    }

    /// Something else happens: what was looked at before goes up.
    pub fn close_group(&mut self) {
        let Some(turn) = &mut self.turn else {
            return;
        };
        let explored = std::mem::take(&mut turn.explored);
        if !explored.calls.is_empty() {
            self.pace.let_up();
            self.transcript
                .add(explored.into(), self.size.width, &self.look);
        }
    }

    /// What is to be done is this now.
    pub fn planned(&mut self, steps: Vec<Step>) {
        if let Some(turn) = &mut self.turn {
            turn.plan = Some(Todo { steps });
        }
    }

    /// The turn is over: the list goes up as it was in the end.
    pub fn close_plan(&mut self) {
        let plan = self.turn.as_mut().and_then(|turn| turn.plan.take());
        if let Some(plan) = plan {
            self.add(plan);
        }
    }

    /// What was looked at so far.
    pub fn group_rows(&self) -> Vec<Row> {
        let group = self.turn.as_ref().map(|turn| &turn.explored);
        let rows = |group: &Explored| group.rows(self.size.width, &self.look, Detail::Short);
        group.map(rows).unwrap_or_default()
    }

    /// The list as it is now; a third of the screen at most.
    pub fn plan_rows(&self) -> Vec<Row> {
        let most = usize::from(self.size.height / 3).max(3);
        let plan = self.turn.as_ref().and_then(|turn| turn.plan.as_ref());
        let rows = |plan: &Todo| plan.glance(self.size.width, most, &self.look);
        plan.map(rows).unwrap_or_default()
    }
}
