//! What the final message of a turn asks for when it begins with a [`Marker`]: for a Codex that has
//! our instructions but not our tools.

use super::turn_end::TurnEnd;
use crate::core::agent::{Agent, Party};
use crate::core::delivery::OnBusy;
use crate::core::entry::{Artifact, Entry, EntryKind, GOES_ON_WITH, Handoff, NoteKind, TurnStatus};
use crate::core::id::RuntimeSession;
use crate::core::marker::Marker;
use crate::daemon::agents::codex_lane::Relayed;
use crate::daemon::attach::ConnId;
use crate::daemon::commands::checks::check_handles;
use crate::daemon::commands::pair_to_send_to::pair_of_nobody;
use crate::daemon::decisions::decision_messages::track;
use crate::daemon::deliveries::handoff_dedup::Ask;
use crate::daemon::event::TreePurpose;
use crate::daemon::owners::{Base, Deliveries};
use crate::wire::control::ProposeParams;

/// What a marker leads to.
#[derive(Debug, Default)]
pub(super) struct Marked {
    /// To be recorded with the end of the turn.
    pub(super) entries: Vec<Entry>,
    /// The message is not for Claude, or reaches it in another way.
    pub(super) is_kept_back: bool,
}

impl Deliveries {
    /// What the final message of a turn leads to besides being an answer.
    pub(super) fn marked(
        &self,
        base: &Base,
        end: &TurnEnd,
        final_answer: Option<&str>,
        relayed: &[Relayed],
    ) -> Marked {
        let marker = final_answer
            .filter(|_| end.status == TurnStatus::Completed)
            .and_then(Marker::parse);
        let Some(marker) = marker else {
            return Marked::default();
        };
        let of_claude = relayed
            .first()
            .filter(|message| message.from == Agent::Claude.into());
        let pair = of_claude
            .and_then(|message| message.runtime_session.clone())
            .unwrap_or_else(|| pair_of_nobody(&base.clients, RuntimeSession::default()));
        // An answer of ours that is answered by the same question would go round for ever.
        let is_ours =
            |message: &Relayed| message.from == Party::System || message.goes_on_with.is_some();
        let is_our_answer = relayed.iter().any(is_ours);
        if marker.is_question() && is_our_answer {
            return Marked::default();
        }
        let is_kept_back =
            marker.is_question() || matches!(marker, Marker::Human(_) | Marker::Handoff(_));
        let goes_on_with = relayed
            .first()
            .filter(|first| first.starts && marker.is_question())
            .map(|first| first.asked().as_str().into());
        let mut entry = self.entry_of_marker(base, marker, pair);
        if let (Some(entry), Some(asked)) = (&mut entry, goes_on_with) {
            entry.meta.insert(GOES_ON_WITH.to_owned(), asked);
        }
        Marked {
            entries: entry.into_iter().collect(),
            is_kept_back,
        }
    }

    fn entry_of_marker(&self, base: &Base, marker: Marker, pair: RuntimeSession) -> Option<Entry> {
        let codex = Party::Agent(Agent::Codex);
        let (target, kind, content) = match marker {
            Marker::ReadContext { focus } => return Some(base.context_answer(&focus, pair)),
            Marker::TaskState => return Some(base.context_answer("what is open", pair)),
            Marker::Handoff(ask) => return self.handoff_by_marker(base, ask, pair),
            Marker::ProposeFinal {
                summary,
                evidence,
                remaining_risk,
                handles,
            } => {
                // An id with a slip in it must not cost the proposal; nobody is there to hear of
                // it.
                let handles = handles
                    .into_iter()
                    .filter(|id| check_handles(&base.recorder, std::slice::from_ref(id)).is_ok())
                    .collect();
                base.read_tree(TreePurpose::Propose {
                    conn: ConnId::next(),
                    params: ProposeParams {
                        agent: Agent::Codex,
                        summary,
                        evidence,
                        remaining_risk,
                        handles,
                        runtime_session_id: Some(pair),
                    },
                    reply: None,
                });
                return None;
            }
            Marker::Note(text) => (None, NoteKind::Note.into(), text),
            // A claim and never a decision: those are the operator's.
            Marker::Done(summary) => (None, NoteKind::Note.into(), format!("done: {summary}")),
            Marker::Human(text) => (Some(Party::Human), NoteKind::Note.into(), text),
            Marker::Artifact {
                kind,
                title,
                summary,
                status,
                evidence,
            } => {
                let content = format!("{kind} · {} · {title}\n{summary}", status.as_str());
                let artifact = Artifact {
                    kind: kind.into(),
                    title,
                    summary,
                    status,
                    evidence,
                    verified: None,
                    ran: None,
                };
                (None, EntryKind::Artifact(artifact), content)
            }
        };
        Some(
            base.recorder
                .entry(codex, target, kind, content, Some(pair)),
        )
    }

    fn handoff_by_marker(&self, base: &Base, ask: String, pair: RuntimeSession) -> Option<Entry> {
        let codex = Party::Agent(Agent::Codex);
        let same = Ask::new(codex.clone(), Agent::Claude, pair.clone(), &ask);
        // A tool has said it already. It is remembered only once it is recorded: nobody must wait
        // for that here while the disk is full.
        if self.handoff_dedup.knows(&same, base.clock.now_ms()) {
            return None;
        }
        let handoff = Handoff {
            reason: String::new(),
            context_refs: Vec::new(),
            on_busy: OnBusy::Queue,
            handles: Vec::new(),
        };
        let kind = EntryKind::Handoff(handoff);
        Some(
            base.recorder
                .entry(codex, Some(Agent::Claude.into()), kind, ask, Some(pair)),
        )
    }

    /// What a turn led to is recorded: it is on its way, and a handoff counts as asked for.
    pub(super) fn marked_is_durable(&mut self, base: &Base, entry: &Entry) {
        track(base, &mut self.outbox, &entry.id);
        if let (EntryKind::Handoff(_), Some(to)) =
            (&entry.kind, entry.target.as_ref().and_then(Party::agent))
        {
            let pair = entry.pair();
            let ask = Ask::new(entry.source.clone(), to, pair, &entry.content);
            let now_ms = base.clock.now_ms();
            self.handoff_dedup.recorded(ask, entry.id.clone(), now_ms);
        }
    }
}
