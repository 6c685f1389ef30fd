//! [`RecoveredTurns`]: turns that did not come to their end, what waited in them for an answer that
//! nobody can give any more, answers of which nobody knows whether they arrived, and what still waits
//! for one.

use std::collections::BTreeMap;

use ctxrelay_ui::model::RecoveryPart;
use serde_json::{Value, json};

use super::counted_latest::CountedLatest;
use super::pairs::RecoveredPairs;
use super::parts::{counted, row};
use super::{RECENT_MAX, TEXT_CHARS};
use crate::cli::offline::seen_claude::SeenClaude;
use crate::cli::text::words::short;
use crate::core::agent::{Agent, AgentState, Party};
use crate::core::entry::{AgentChanged, Entry, EntryKind, LifecycleEvent, TurnStatus};
use crate::core::id::{RuntimeSession, Seq, TurnId};
use crate::core::snapshot::{ApprovalSnapshot, Snapshot};

/// How many turns that run are kept: there is one, or few.
const OPEN_MAX: usize = 16;

/// Why a turn has no end on record.
const DAEMON_ENDED: &str = "the daemon ended in it";
const AGENT_LEFT: &str = "its program ended in it";
const NOBODY_TOLD: &str = "the daemon ended in it, and nobody told how it ended";

/// A turn that was stopped, failed, or ended with what it hung on.
struct InterruptedTurn {
    seq: Seq,
    at_ms: i64,
    by: Party,
    text: String,
    /// Where the vendor did not say how it ended.
    why: Option<&'static str>,
    /// Codex's.
    turn: Option<TurnId>,
    pair: Option<RuntimeSession>,
    /// The Claude that was in it when its daemon ended. It may have gone on without one.
    claude: Option<SeenClaude>,
}

impl InterruptedTurn {
    fn of(entry: &Entry, by: Party, why: Option<&'static str>) -> Self {
        Self {
            seq: entry.seq,
            at_ms: entry.timestamp_ms,
            by,
            text: short(&entry.content, TEXT_CHARS),
            why,
            turn: match &entry.kind {
                EntryKind::Turn(turn) => Some(turn.turn_id.clone()),
                _ => None,
            },
            pair: entry.runtime_session.clone(),
            claude: None,
        }
    }
}

/// The latest of each, oldest first, [`RECENT_MAX`] at most.
pub(super) struct RecoveredTurns {
    /// Of Codex, which tells of its turns one by one; in their order.
    open: BTreeMap<TurnId, InterruptedTurn>,
    /// Of the Claude of each pair.
    claudes: BTreeMap<RuntimeSession, InterruptedTurn>,
    interrupted: CountedLatest<InterruptedTurn>,
    /// Without an answer.
    lost: CountedLatest<ApprovalSnapshot>,
    /// With an answer of the operator's that had shown no effect yet.
    unproven: CountedLatest<ApprovalSnapshot>,
}

impl Default for RecoveredTurns {
    fn default() -> Self {
        Self {
            open: BTreeMap::new(),
            claudes: BTreeMap::new(),
            interrupted: CountedLatest::new(RECENT_MAX),
            lost: CountedLatest::new(RECENT_MAX),
            unproven: CountedLatest::new(RECENT_MAX),
        }
    }
}

impl RecoveredTurns {
    /// Takes in an entry before it is folded into `world`.
    pub(super) fn take(&mut self, entry: &Entry, world: &Snapshot) {
        if let EntryKind::AgentChanged(change) = &entry.kind
            && change.agent == Agent::Claude
        {
            self.take_claude(entry, change);
        }
        match &entry.kind {
            EntryKind::Turn(turn) => match turn.status {
                TurnStatus::InProgress => {
                    if self.open.len() < OPEN_MAX {
                        let open =
                            InterruptedTurn::of(entry, entry.source.clone(), Some(DAEMON_ENDED));
                        // The same one may be told again, from the history.
                        self.open.entry(turn.turn_id.clone()).or_insert(open);
                    }
                }
                TurnStatus::Interrupted | TurnStatus::Failed => {
                    self.open.remove(&turn.turn_id);
                    // The daemon that ended in it did not say so: the next one does.
                    let mut told = self.interrupted.iter();
                    if !told.any(|told| told.turn.as_ref() == Some(&turn.turn_id)) {
                        let ended = InterruptedTurn::of(entry, entry.source.clone(), None);
                        self.interrupted.push(ended);
                    }
                }
                TurnStatus::Completed => {
                    self.open.remove(&turn.turn_id);
                    // It ended behind the daemon that ran it.
                    let is_it = |told: &InterruptedTurn| told.turn.as_ref() == Some(&turn.turn_id);
                    self.interrupted.take_back(is_it);
                }
            },
            // Claude's program tells when its turn ends; one that goes before that has lost it.
            EntryKind::AgentChanged(AgentChanged {
                agent: Agent::Claude,
                state: AgentState::Offline,
                ..
            }) if is_in_turn(world, entry) => {
                let by = Party::Agent(Agent::Claude);
                let left = InterruptedTurn::of(entry, by, Some(AGENT_LEFT));
                self.interrupted.push(left);
            }
            EntryKind::Lifecycle {
                event: LifecycleEvent::DaemonStarted,
            } => self.daemon_ended(world),
            _ => {}
        }
    }

    fn take_claude(&mut self, entry: &Entry, change: &AgentChanged) {
        let at_ms = entry.timestamp_ms;
        let seen = change.pid.map(|pid| SeenClaude { pid, at_ms });
        let is_it = |turn: &InterruptedTurn| {
            let both = turn.claude.zip(seen);
            both.is_some_and(|(was, now)| was.pid == now.pid)
        };
        self.interrupted.take_back(is_it);
        let pair = entry.pair();
        if !change.state.is_in_turn() {
            self.claudes.remove(&pair);
        } else if self.claudes.len() < OPEN_MAX || self.claudes.contains_key(&pair) {
            let begun = InterruptedTurn::of(entry, Party::Agent(Agent::Claude), Some(NOBODY_TOLD));
            let turn = self.claudes.entry(pair).or_insert(begun);
            turn.claude = seen.or(turn.claude);
        }
    }

    /// Takes back what is not cut off: a Claude that still runs goes on without its daemon.
    pub(super) fn see_who_runs(&mut self, now_ms: i64) {
        let runs = |turn: &InterruptedTurn| turn.claude.is_some_and(|it| it.is_open(now_ms));
        self.interrupted.take_back(runs);
    }

    /// The daemon is gone, or another one begins: what the record has as open then has no end.
    pub(super) fn daemon_ended(&mut self, world: &Snapshot) {
        let mut turns: Vec<_> = std::mem::take(&mut self.open).into_values().collect();
        // Of a Claude whose process is not known nobody could tell that it is gone.
        let claudes = std::mem::take(&mut self.claudes).into_values();
        turns.extend(claudes.filter(|turn| turn.claude.is_some()));
        turns.sort_by_key(|turn| turn.seq);
        for turn in turns {
            self.interrupted.push(turn);
        }
        let asked = world.open_approvals.values();
        let asked = asked.filter(|asked| !asked.outlives_daemon());
        let mut asked: Vec<_> = asked.cloned().collect();
        asked.sort_by_key(|asked| asked.seq);
        for asked in asked {
            match asked.given {
                Some(_) => self.unproven.push(asked),
                None => self.lost.push(asked),
            }
        }
    }

    /// Whether a turn runs, or the last one that was cut off has no end on record: what ran in it,
    /// nobody has told.
    pub(super) fn lack_an_end(&self, world: &Snapshot) -> bool {
        let last = self.interrupted.iter().next_back();
        let mut agents = world.agents.values();
        !self.open.is_empty()
            || last.is_some_and(|turn| turn.why.is_some())
            || agents.any(|agent| agent.state.is_in_turn())
    }

    /// For a program.
    pub(super) fn to_json(&self, world: &Snapshot) -> Value {
        let turns = self.interrupted.iter().rev().map(|turn| {
            let mut told = json!({
                "seq": turn.seq,
                "at": turn.at_ms,
                "by": turn.by,
                "text": turn.text,
                "pair": turn.pair,
            });
            if let Some(why) = turn.why {
                told["why"] = why.into();
            }
            told
        });
        let asked = |asked: &ApprovalSnapshot| {
            json!({
                "id": asked.id,
                "seq": asked.seq,
                "at": asked.at_ms,
                "by": asked.agent,
                "kind": asked.request.kind,
                "text": short(&asked.request.subject, TEXT_CHARS),
            })
        };
        let lost = self.lost.iter().rev().map(asked);
        let unproven = self.unproven.iter().rev().map(|given| {
            let mut told = asked(given);
            told["answer"] = given.given_label().into();
            told
        });
        let waiting = waiting(world).into_iter().map(asked);
        let cut_off = world.cut_off.iter().map(|(id, message)| {
            json!({
                "id": id,
                "seq": message.seq,
                "at": message.at_ms,
                "from": message.from,
                "to": message.to,
                "pair": message.pair(),
            })
        });
        json!({
            "interruptedTurns": turns.collect::<Vec<_>>(),
            "pendingApprovals": waiting.collect::<Vec<_>>(),
            "unansweredApprovals": lost.collect::<Vec<_>>(),
            "unprovenAnswers": unproven.collect::<Vec<_>>(),
            "cutOff": cut_off.collect::<Vec<_>>(),
        })
    }

    /// For people.
    pub(super) fn parts(&self, world: &Snapshot, pairs: &RecoveredPairs) -> Vec<RecoveryPart> {
        let turns = self.interrupted.iter().rev().map(|turn| {
            let mark = pairs.mark(turn.pair.as_ref());
            let text = match turn.why {
                Some(why) => format!("{}{mark}: {why}: {}", turn.by.title(), turn.text),
                None => format!("{}{mark}: {}", turn.by.title(), turn.text),
            };
            row(turn.at_ms, "", text)
        });
        let asked_words = |asked: &ApprovalSnapshot| {
            let (by, sought) = (asked.agent.title(), asked.request.kind.sought());
            let subject = short(&asked.request.subject, TEXT_CHARS);
            let mark = pairs.mark(asked.runtime_session.as_ref());
            format!("{by}{mark} asked {sought}: {subject}")
        };
        let asked =
            |asked: &ApprovalSnapshot| row(asked.at_ms, asked.id.as_str(), asked_words(asked));
        let lost = self.lost.iter().rev().map(asked);
        let unproven = self.unproven.iter().rev().map(|given| {
            let label = given.given_label().unwrap_or_default();
            let text = format!("{}; your answer was {label}", asked_words(given));
            row(given.at_ms, given.id.as_str(), text)
        });
        let waiting = waiting(world);
        let mut messages: Vec<_> = world.cut_off.iter().collect();
        messages.sort_by_key(|(_, message)| message.seq);
        let messages = messages.into_iter().map(|(id, message)| {
            let mark = pairs.mark(message.runtime_session.as_ref());
            let text = format!(
                "{} → {}{mark}: its turn ended early; `ctxrelay queue retry ID --apply` sends it \
                 again, `queue remove ID --apply` gives it up",
                message.from, message.to
            );
            row(message.at_ms, id.as_str(), text)
        });
        let mut parts = vec![
            counted(
                "Interrupted turns",
                self.interrupted.total(),
                turns.collect(),
            ),
            counted("Cut off", world.cut_off.len(), messages.collect()),
            counted(
                "Asked, and waits for you",
                waiting.len(),
                waiting.into_iter().map(asked).collect(),
            ),
            counted(
                "Asked, and cut off before an answer",
                self.lost.total(),
                lost.collect(),
            ),
        ];
        let answered = self.unproven.total();
        if answered > 0 {
            let title = "Answered by you, and whether that arrived is not known";
            parts.push(counted(title, answered, unproven.collect()));
        }
        parts
    }
}

/// What can still be answered, oldest first.
fn waiting(world: &Snapshot) -> Vec<&ApprovalSnapshot> {
    let mut waiting: Vec<_> = world.open_approvals.values().collect();
    waiting.sort_by_key(|asked| asked.seq);
    waiting
}

/// Whether the Claude of the entry's pair is in a turn.
fn is_in_turn(world: &Snapshot, entry: &Entry) -> bool {
    let claude = world.agents.get(&Agent::Claude);
    claude.is_some_and(|claude| claude.status(&entry.pair()).state.is_in_turn())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::entry::{ApprovalKind, ApprovalRequest};
    use crate::core::id::{EntryId, Seq};

    #[test]
    fn what_was_answered_and_showed_no_effect_stands_apart_from_what_nobody_answered() {
        let asks = |seq, command: &str, given: Option<&str>| {
            let (kind, item) = (ApprovalKind::Command, "item-1".to_owned());
            let asked = ApprovalSnapshot {
                id: EntryId::new(command),
                seq: Seq(seq),
                agent: Agent::Codex,
                at_ms: 0,
                request: ApprovalRequest::new(kind, item, command.to_owned()),
                text: String::new(),
                given: given.map(|choice| (choice.to_owned(), 1)),
                runtime_session: None,
            };
            (asked.id.clone(), asked)
        };
        let mut world = Snapshot::default();
        let asked = [
            asks(1, "make build", None),
            asks(2, "make clean", Some("accept")),
        ];
        world.open_approvals.extend(asked);
        let mut recovered = RecoveredTurns::default();
        recovered.daemon_ended(&world);
        let told = recovered.to_json(&Snapshot::default());
        let ids = |name: &str| -> Vec<&Value> {
            let told = told[name].as_array().unwrap();
            told.iter().map(|asked| &asked["id"]).collect()
        };
        assert_eq!(ids("unansweredApprovals"), ["make build"]);
        assert_eq!(ids("unprovenAnswers"), ["make clean"]);
        assert_eq!(told["unprovenAnswers"][0]["answer"], "accept");
    }
}
