//! [`Attachment`]: one client of the daemon. Anybody may read it; only [`super::Clients`] changes
//! it.

use std::collections::BTreeSet;

use crate::adapters::process::StartedProcess;
use crate::core::id::EntryId;
use crate::daemon::attach::Outlet;
use crate::wire::control::{Hello, Role};

/// One connected client.
#[derive(Debug)]
pub(in crate::daemon) struct Attachment {
    /// Who it says it is.
    pub hello: Hello,
    /// Operator commands are accepted.
    pub operator: bool,
    /// Its process, if the kernel tells.
    pub process: Option<StartedProcess>,
    /// It gets the deliveries of its agent and runtime session.
    pub receiver: bool,
    pub doorbell: bool,
    /// When it came, ms since the epoch.
    pub since_ms: i64,
    /// Bodies that it received, without having reported yet that it delivered or read them.
    pub(super) given: BTreeSet<EntryId>,
    /// It wants every entry.
    pub(super) subscribed: bool,
    /// Where its notifications go.
    pub(super) outlet: Outlet,
}

impl Attachment {
    /// Whether it is the bridge or the doorbell of a Claude with which a person works.
    pub fn is_of_claude(&self) -> bool {
        self.hello.role == Role::Claude && !self.hello.in_print_mode || self.doorbell
    }

    /// One that has just come.
    pub(super) fn new(
        hello: Hello,
        operator: bool,
        process: Option<StartedProcess>,
        since_ms: i64,
        outlet: Outlet,
    ) -> Self {
        Self {
            hello,
            operator,
            process,
            receiver: false,
            doorbell: false,
            since_ms,
            given: BTreeSet::new(),
            subscribed: false,
            outlet,
        }
    }
}
