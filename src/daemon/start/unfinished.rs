//! What the previous daemon left unfinished, and what a start records of it.

use crate::core::agent::{Agent, Party};
use crate::core::entry::{ApprovalStep, Entry, EntryKind, LifecycleEvent, TurnRecord, TurnStatus};
use crate::core::id::TurnId;
use crate::daemon::decisions::how_over::HowOver;
use crate::daemon::owners::Base;

impl Base {
    /// Tells of the messages that Codex was at work on when the daemon before this one ended, and
    /// the app-server with it. To be called before the record says that this one started, which
    /// counts them as cut off. Returns what is to be told behind that: the ends of the turn and of
    /// what waited for an answer, for which nobody was left, and to who waits for what Codex was at
    /// or was to be given again, unless the record is a clone's. `in_history`: the turn whose end
    /// Codex's history is to tell.
    pub(super) fn note_unfinished(
        &mut self,
        is_clone: bool,
        in_history: Option<&TurnId>,
    ) -> Vec<Entry> {
        let told = match is_clone {
            true => Vec::new(),
            false => [
                self.nothing_came_of_unfinished(in_history),
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
            .filter(|(_, turn_id)| Some(turn_id) != in_history)
            .map(|(thread_id, turn_id)| TurnRecord {
                thread_id,
                turn_id,
                status: TurnStatus::Interrupted,
                started_by: Party::System,
                stopped_by: None,
            })
            .collect();
        // Also of what was answered: an answer is over only with what the agent shows behind it.
        let lost = world.open_approvals.values();
        let lost = lost.filter(|asked| !asked.outlives_daemon()).map(|asked| {
            let how = HowOver::DaemonEnded;
            let said = how.in_words(asked.agent, Some(asked));
            let ended = ApprovalStep::Ended(how.end()).of(asked.id.clone(), asked.agent);
            self.recorder.entry(Party::System, None, ended, said, None)
        });
        let lost: Vec<Entry> = lost.collect();
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
        let turns = turns.into_iter().map(|turn| {
            // Only Codex tells of its turns one by one.
            let (codex, turn) = (Party::Agent(Agent::Codex), EntryKind::Turn(turn));
            let said = "the turn died with the daemon";
            self.recorder.entry(codex, None, turn, said, None)
        });
        lost.into_iter().chain(turns).chain(told).collect()
    }
}
