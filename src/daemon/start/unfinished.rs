//! What the previous daemon left unfinished, and what a start records of it.

use crate::core::agent::{Agent, Party};
use crate::core::entry::{
    ApprovalEnd, ApprovalStep, Entry, EntryKind, LifecycleEvent, TurnRecord, TurnStatus,
};
use crate::core::id::{EntryId, TurnId};
use crate::daemon::owners::Base;

impl Base {
    /// Tells of the messages that Codex was at work on when the daemon before this one ended, and
    /// the app-server with it. To be called before the record says that this one started, which
    /// counts them as cut off. Returns what is to be told behind that: the ends of the turn and of
    /// what waited for an answer, for which nobody was left, and to who waits for what Codex was at
    /// or was to be given again, unless the record is a clone's. `asked`: the turn whose end Codex's
    /// history is to tell.
    pub(super) fn note_unfinished(&mut self, is_clone: bool, asked: Option<&TurnId>) -> Vec<Entry> {
        let told = match is_clone {
            true => Vec::new(),
            false => [
                self.nothing_came_of_unfinished(asked),
                self.nothing_came_after_a_start(),
            ]
            .concat(),
        };
        let world = self.recorder.world();
        let unfinished = world.in_turn.clone();
        let turns: Vec<TurnRecord> = world
            .agents
            .values()
            .filter_map(|agent| agent.unended_turn.clone())
            .filter(|(_, turn_id)| Some(turn_id) != asked)
            .map(|(thread_id, turn_id)| TurnRecord {
                thread_id,
                turn_id,
                status: TurnStatus::Interrupted,
                started_by: Party::System,
                stopped_by: None,
            })
            .collect();
        let asked: Vec<(EntryId, Agent)> = world
            .open_approvals
            .iter()
            .filter(|(_, asked)| asked.given.is_none() && !asked.outlives_daemon())
            .map(|(id, asked)| (id.clone(), asked.agent))
            .collect();
        for (id, (turn, _)) in unfinished {
            let event = LifecycleEvent::DeliveryCutOff;
            self.recorder.keep(
                Party::System,
                event,
                format!(
                    "Codex was at work on {id} in turn {turn} when the daemon ended: it has the \
                     message and does not get it again by itself"
                ),
            );
        }
        let asked = asked.into_iter().map(|(id, agent)| {
            let said = format!("what {} asked is gone with the daemon", agent.title());
            let lost = ApprovalStep::Ended(ApprovalEnd::Lost).of(id, agent);
            self.recorder.entry(Party::System, None, lost, said, None)
        });
        let turns = turns.into_iter().map(|turn| {
            // Only Codex tells of its turns one by one.
            let (codex, turn) = (Party::Agent(Agent::Codex), EntryKind::Turn(turn));
            let said = "the turn died with the daemon";
            self.recorder.entry(codex, None, turn, said, None)
        });
        asked.chain(turns).chain(told).collect()
    }
}
