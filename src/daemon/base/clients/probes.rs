//! [`LivenessProbes`]: a second bridge of a pair connects while the place is taken. The holder is
//! asked whether it is alive: if it does not answer it loses the place to the newcomer; if it does
//! it keeps the place, and is asked again now and then while somebody waits for it.
//!
//! The probe is a ping on the holder's own connection, because what matters is that its process
//! still reads and writes.

use std::collections::{BTreeMap, BTreeSet};

use super::Clients;
use crate::core::id::RuntimeSession;
use crate::daemon::attach::ConnId;

/// How long a holder may take to answer, ms. One on the same machine answers within a
/// millisecond; a stopped or swapped-out one deserves a moment.
pub(in crate::daemon) const ANSWER_MS: i64 = 3_000;

/// Between two questions to a holder that answers, while another bridge waits for its place, ms.
const AGAIN_MS: i64 = 30_000;

/// The probes of the clients that hold a place.
#[derive(Debug, Default)]
pub(super) struct LivenessProbes {
    asked: BTreeMap<ConnId, LivenessProbe>,
    /// Clients that lost their place and have been silent since.
    quiet: BTreeSet<ConnId>,
}

/// Where one holder's probe stands.
#[derive(Debug, Clone, Copy)]
enum LivenessProbe {
    /// It may answer until then, ms.
    Asked(i64),
    /// It has answered, and is asked again then, ms.
    Answered(i64),
}

/// A bridge that did not answer has lost the place of its pair. Nobody has it until the heir gets
/// it.
#[derive(Debug)]
pub(in crate::daemon) struct PlaceLost {
    pub pair: RuntimeSession,
    pub holder: ConnId,
    /// Its process, as it says.
    pub pid: u32,
    pub heir: ConnId,
}

impl LivenessProbe {
    fn due_ms(self) -> i64 {
        match self {
            Self::Asked(until) => until,
            Self::Answered(again) => again,
        }
    }
}

impl LivenessProbes {
    /// A bridge is gone, and its probe with it.
    pub(super) fn forget(&mut self, conn: ConnId) {
        self.asked.remove(&conn);
        self.quiet.remove(&conn);
    }
}

impl Clients {
    /// A bridge came whose place is held.
    pub(super) fn probe_holder(&mut self, pair: &RuntimeSession, now_ms: i64) {
        let holder = self.bridges_of(pair).find(|(_, bridge)| bridge.receiver);
        if let Some(holder) = holder.map(|(conn, _)| conn) {
            self.probe(holder, now_ms);
        }
    }

    /// Asks a holder, unless it has been asked a moment ago.
    fn probe(&mut self, holder: ConnId, now_ms: i64) {
        let asked = &mut self.probes.asked;
        if matches!(asked.get(&holder), Some(LivenessProbe::Asked(_))) {
            return;
        }
        if let Some(bridge) = self.attached.get(&holder) {
            bridge.outlet.probe();
            asked.insert(holder, LivenessProbe::Asked(now_ms + ANSWER_MS));
        }
    }

    /// A client answered a ping.
    pub fn ping_answered(&mut self, conn: ConnId, now_ms: i64) {
        if let Some(probe) = self.probes.asked.get_mut(&conn) {
            *probe = LivenessProbe::Answered(now_ms + AGAIN_MS);
        }
        if self.probes.quiet.remove(&conn)
            && let Some(back) = self.attached.get(&conn)
        {
            // It waits from now on as one that has just come.
            let pair = back.hello.runtime_session_id.clone();
            self.probe_holder(&pair, now_ms);
        }
    }

    /// When a probe is due, or a place is kept no longer, ms.
    pub fn next_place_ms(&self) -> Option<i64> {
        let asked = self.probes.asked.values();
        let due = asked.map(|probe| probe.due_ms());
        due.chain(self.next_free_ms()).min()
    }

    /// Asks those again whose time has come. Those that did not answer lose their places.
    pub fn probes_due(&mut self, now_ms: i64) -> Vec<PlaceLost> {
        let mut due = BTreeMap::new();
        for (holder, probe) in &self.probes.asked {
            if probe.due_ms() <= now_ms {
                due.insert(*holder, *probe);
            }
        }
        let mut lost = Vec::new();
        for (holder, probe) in due {
            self.probes.asked.remove(&holder);
            let Some(pair) = self.pair_held_by(holder) else {
                continue;
            };
            let Some(heir) = self.heir(&pair, holder) else {
                continue;
            };
            match probe {
                LivenessProbe::Asked(_) => lost.extend(self.lose_place(pair, holder, heir, now_ms)),
                LivenessProbe::Answered(_) => self.probe(holder, now_ms),
            }
        }
        lost
    }

    fn pair_held_by(&self, holder: ConnId) -> Option<RuntimeSession> {
        let bridge = self.attached.get(&holder).filter(|it| it.receiver)?;
        Some(bridge.hello.runtime_session_id.clone())
    }

    /// The newest of the bridges that wait for the place and were not given up themselves.
    fn heir(&self, pair: &RuntimeSession, holder: ConnId) -> Option<ConnId> {
        self.bridges_of(pair)
            .map(|(conn, _)| conn)
            .filter(|conn| *conn != holder && !self.probes.quiet.contains(conn))
            .max()
    }

    /// Who has the place once its holder has left: the one that waits longest and answers, else one
    /// that was given up, which may come back to life.
    pub(super) fn heir_of_left(&self, pair: &RuntimeSession) -> Option<ConnId> {
        let waiting = || self.bridges_of(pair).map(|(conn, _)| conn);
        let answering = waiting().find(|conn| !self.probes.quiet.contains(conn));
        answering.or_else(|| waiting().next())
    }

    /// The holder has not answered. Should it come back to life, it is one that waits.
    fn lose_place(
        &mut self,
        pair: RuntimeSession,
        holder: ConnId,
        heir: ConnId,
        now_ms: i64,
    ) -> Option<PlaceLost> {
        let bridge = self.attached.get_mut(&holder)?;
        bridge.receiver = false;
        let pid = bridge.hello.pid;
        self.probes.quiet.insert(holder);
        // The old one may come back, and then waits as politely.
        let again = LivenessProbe::Answered(now_ms + AGAIN_MS);
        self.probes.asked.insert(heir, again);
        Some(PlaceLost {
            pair,
            holder,
            pid,
            heir,
        })
    }
}
