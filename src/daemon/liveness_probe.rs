//! [`Challenges`]: a second bridge of a pair whose place is held. The holder is asked whether it
//! lives; one that does not answer loses the place to the newcomer, one that does keeps it, and is
//! asked again now and then while somebody waits for it.
//!
//! Asking is a ping on the holder's own connection: what has to be shown is that its process still
//! reads and writes.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

use super::attach::{Attachment, ConnId};
use super::run::Daemon;
use crate::core::agent::Party;
use crate::core::delivery::LadderInput;
use crate::core::entry::{EntryKind, LifecycleEvent};
use crate::core::id::RuntimeSession;
use crate::wire::control::{Notification, Role};

/// How long a holder may take to answer, ms. One on the same machine answers within a
/// millisecond; a stopped or swapped-out one deserves a moment.
const ANSWER_MS: i64 = 3_000;

/// Between two questions to a holder that answers, while another bridge waits for its place, ms.
const AGAIN_MS: i64 = 30_000;

/// Which holders were asked.
#[derive(Debug, Default)]
pub(super) struct Challenges {
    asked: BTreeMap<ConnId, LivenessProbe>,
    /// They lost their place, and nothing was heard of them since.
    silent: BTreeSet<ConnId>,
}

/// Where one holder's challenge stands.
#[derive(Debug, Clone, Copy)]
enum LivenessProbe {
    /// It may answer until then, ms.
    Asked(i64),
    /// It has answered, and is asked again then, ms.
    Answered(i64),
}

impl LivenessProbe {
    fn due_ms(self) -> i64 {
        match self {
            Self::Asked(until) => until,
            Self::Answered(again) => again,
        }
    }
}

impl Daemon {
    /// A bridge came whose place is held.
    pub(super) fn challenge_holder(&mut self, pair: &RuntimeSession) {
        let holder = self
            .bridges_of(pair)
            .find(|(_, bridge)| bridge.receiver)
            .map(|(conn, _)| conn);
        if let Some(holder) = holder {
            self.challenge(holder);
        }
    }

    /// Asks a holder, unless it has been asked a moment ago.
    fn challenge(&mut self, holder: ConnId) {
        if matches!(
            self.challenges.asked.get(&holder),
            Some(LivenessProbe::Asked(_))
        ) {
            return;
        }
        if let Some(bridge) = self.attachments.get(&holder) {
            bridge.outlet.probe();
            let until = self.clock.now_ms() + ANSWER_MS;
            self.challenges
                .asked
                .insert(holder, LivenessProbe::Asked(until));
        }
    }

    /// A client answered a ping.
    pub(super) fn heard(&mut self, conn: ConnId) {
        if let Some(challenge) = self.challenges.asked.get_mut(&conn) {
            *challenge = LivenessProbe::Answered(self.clock.now_ms() + AGAIN_MS);
        }
        if self.challenges.silent.remove(&conn)
            && let Some(back) = self.attachments.get(&conn)
        {
            // It waits from now on as one that has just come.
            let pair = back.hello.runtime_session_id.clone();
            self.challenge_holder(&pair);
        }
    }

    /// A bridge is gone, and its challenge with it.
    pub(super) fn forget_challenge(&mut self, conn: ConnId) {
        self.challenges.asked.remove(&conn);
        self.challenges.silent.remove(&conn);
    }

    /// When a challenge is due.
    pub(super) fn next_challenge(&self) -> Option<Instant> {
        self.challenges
            .asked
            .values()
            .map(|challenge| challenge.due_ms())
            .min()
            .map(|at_ms| self.clock.instant(at_ms))
    }

    pub(super) fn challenge_deadline(&mut self) {
        let now_ms = self.clock.now_ms();
        let due: Vec<(ConnId, LivenessProbe)> = self
            .challenges
            .asked
            .iter()
            .filter(|(_, challenge)| challenge.due_ms() <= now_ms)
            .map(|(holder, challenge)| (*holder, *challenge))
            .collect();
        for (holder, challenge) in due {
            self.challenges.asked.remove(&holder);
            let Some(pair) = self.pair_held_by(holder) else {
                continue;
            };
            let Some(heir) = self.heir(&pair, holder) else {
                continue;
            };
            match challenge {
                LivenessProbe::Asked(_) => self.take_place(&pair, holder, heir),
                LivenessProbe::Answered(_) => self.challenge(holder),
            }
        }
    }

    fn pair_held_by(&self, holder: ConnId) -> Option<RuntimeSession> {
        let bridge = self.attachments.get(&holder).filter(|it| it.receiver)?;
        Some(bridge.hello.runtime_session_id.clone())
    }

    /// The newest of the bridges that wait for the place and were not given up themselves.
    fn heir(&self, pair: &RuntimeSession, holder: ConnId) -> Option<ConnId> {
        self.bridges_of(pair)
            .map(|(conn, _)| conn)
            .filter(|conn| *conn != holder && !self.challenges.silent.contains(conn))
            .max()
    }

    /// The holder has not answered: the newcomer receives from now on, and the holder, should it
    /// come back to life, is one that waits.
    fn take_place(&mut self, pair: &RuntimeSession, holder: ConnId, heir: ConnId) {
        let Some(lost) = self.attachments.get_mut(&holder) else {
            return;
        };
        lost.receiver = false;
        let pid = lost.hello.pid;
        self.challenges.silent.insert(holder);
        self.note_fact(
            Party::System,
            EntryKind::Lifecycle {
                event: LifecycleEvent::ClaudeBridgeReplaced,
            },
            format!(
                "Claude's bridge (pid {pid}) did not answer for {} s: another one that waited for \
                 its place receives from now on",
                ANSWER_MS / 1_000
            ),
        );
        let bridge = holder.number();
        self.tell_ladder(pair, LadderInput::Left { bridge });
        self.tell_receiver(holder, false);
        self.receives(heir);
        self.tell_receiver(heir, true);
        // The old one may come back, and then waits as politely.
        self.challenges.asked.insert(
            heir,
            LivenessProbe::Answered(self.clock.now_ms() + AGAIN_MS),
        );
        self.status_changed();
    }

    /// Has a bridge know whether it gets the deliveries, which its tools say.
    pub(super) fn tell_receiver(&self, conn: ConnId, receiver: bool) {
        if let Some(bridge) = self.attachments.get(&conn) {
            bridge.outlet.send(Notification::Receiver { receiver });
        }
    }

    fn bridges_of(&self, pair: &RuntimeSession) -> impl Iterator<Item = (ConnId, &Attachment)> {
        self.attachments
            .iter()
            .filter(move |(_, it)| {
                it.hello.role == Role::Claude && it.hello.runtime_session_id == *pair
            })
            .map(|(conn, it)| (*conn, it))
    }
}
