//! Arming: what a fault does at once, and which calls it waits for.

use std::time::Duration;

use super::fault::{Fault, Moment, Times};
use super::rpc::Rpc;
use super::session::Order;
use super::state::{Down, Inner, Job, Lost, Shared};

impl Shared {
    pub fn arm(&self, fault: Fault, times: Times) {
        match &fault {
            Fault::SessionNotFound => self.lose_sessions(Lost::NotFound),
            Fault::SessionBadRequest => self.lose_sessions(Lost::BadRequest),
            Fault::SessionRpcError => self.lose_sessions(Lost::RpcError),
            Fault::SessionEvent(how) => self.lose_sessions(Lost::Event(*how)),
            Fault::Restart(time) => return self.go_down(Some(*time)),
            Fault::Down(time) => return self.go_down(*time),
            Fault::PodRotation => return self.close_all(),
            Fault::SilentSockets => return self.silence(),
            Fault::Suspend => {
                self.with(|inner| inner.sessions.forget_all());
                return self.silence();
            }
            Fault::Blackhole => return self.net.send_modify(|net| net.silent = true),
            Fault::TokenExpired => return self.with(|inner| inner.grants.expire()),
            Fault::TokenRotates => return self.with(|inner| inner.grants.expire_and_rotate()),
            Fault::RefreshDead => return self.with(|inner| inner.grants.revoke()),
            Fault::TokenEndpointDown => self.with(|inner| inner.grants.expire()),
            Fault::ChildKilled => return self.order(Order::Kill),
            Fault::ChildStopped(Moment::Idle) => return self.order(Order::Stop),
            Fault::InitializeSilent => {
                self.with(|inner| inner.sessions.forget_all());
                self.order(Order::Kill);
            }
            Fault::Storm {
                per_second,
                seconds,
            } => {
                let (per_second, seconds) = (*per_second, *seconds);
                // A queue full of storms is storm enough.
                let _ = self.jobs.try_send(Job::Storm {
                    per_second,
                    seconds,
                });
                return;
            }
            // The driver's business.
            Fault::ClockJump | Fault::NameFails => return,
            _ => {}
        }
        let times = if fault.is_session_loss() {
            // The first time was now.
            match times {
                Times::Once | Times::Count(0 | 1) => return,
                Times::Count(times) => Times::Count(times - 1),
                Times::Always => Times::Always,
            }
        } else if fault == Fault::TwoInstances {
            Times::Always
        } else {
            times
        };
        self.with(|inner| inner.arm(fault, times));
    }

    /// Healthy from now on. What is lost or silent stays so.
    pub fn heal(&self) {
        self.with(Inner::disarm);
        self.net.send_modify(|net| {
            net.down = None;
            net.silent = false;
        });
    }

    fn lose_sessions(&self, lost: Lost) {
        self.with(|inner| {
            inner.lost = lost;
            inner.sessions.forget_all();
        });
    }

    fn close_all(&self) {
        let last = self.with(|inner| {
            inner.sessions.forget_all();
            inner.counters.connections
        });
        self.net.send_modify(|net| net.closed_to = last);
    }

    fn go_down(&self, time: Option<Duration>) {
        self.close_all();
        let down = match time {
            Some(time) => Down::Until(tokio::time::Instant::now() + time),
            None => Down::Healed,
        };
        self.net.send_modify(|net| net.down = Some(down));
    }

    fn silence(&self) {
        let last = self.with(|inner| inner.counters.connections);
        self.net.send_modify(|net| net.silent_to = last);
    }

    fn order(&self, order: Order) {
        self.with(|inner| inner.lines.order(order));
    }
}

impl Fault {
    pub(crate) fn is_session_loss(&self) -> bool {
        matches!(
            self,
            Self::SessionNotFound
                | Self::SessionBadRequest
                | Self::SessionRpcError
                | Self::SessionEvent(_)
        )
    }

    /// Whether it changes how this call is answered. Lost sessions are found out before.
    pub(crate) fn hits(&self, rpc: &Rpc) -> bool {
        let method = rpc.method.as_str();
        match self {
            Self::NoPing => method == "ping",
            Self::InitializeSilent => matches!(method, "initialize" | "server/discover"),
            Self::ToolError => method == "tools/call",
            // Lists stay as they are.
            Self::TooLarge(..) | Self::Large(_) => {
                matches!(method, "tools/call" | "resources/read" | "prompts/get")
            }
            Self::TwoInstances | Self::FreshSessionsLost | Self::TokenEndpointDown => false,
            fault => rpc.is_operation() && !fault.is_session_loss(),
        }
    }
}
