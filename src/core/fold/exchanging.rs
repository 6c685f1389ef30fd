//! For how long the agents have talked to each other alone.

use crate::agent::{Agent, Party};
use crate::entry::{Entry, EntryKind, LifecycleEvent};
use crate::snapshot::Snapshot;

/// Takes in who spoke. Returns how often the agents of the pair have answered each other with that,
/// where it is one of them who speaks to the other.
pub(super) fn fold_exchange(world: &mut Snapshot, entry: &Entry) -> u32 {
    if let Some(is_so) = entry.prompts_recorded() {
        world.records_prompts(is_so);
    }
    // What a compaction carried on, or somebody else wrote, is nobody's word of now.
    if entry.carried.is_some() || entry.seq <= world.foreign_through {
        return 0;
    }
    if is_of_person(entry) {
        // Codex is one for all pairs: what it is told is as a prompt that is typed there.
        let is_for_all = entry.receiver() == Some(Agent::Codex);
        let pair = entry.runtime_session.as_ref().filter(|_| !is_for_all);
        world.person_is_there(pair);
        return 0;
    }
    match (entry.source.agent(), entry.receiver()) {
        (Some(from), Some(to)) if from != to && world.prompts_recorded => {
            world.answers_with(entry.pair(), from)
        }
        _ => 0,
    }
}

fn is_of_person(entry: &Entry) -> bool {
    let is_prompt = EntryKind::from(LifecycleEvent::PersonSpoke) == entry.kind;
    entry.source == Party::Human || is_prompt && entry.source == Party::System
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Message, OnBusy};
    use crate::fold::fold;
    use crate::id::{EntryId, RuntimeSession, Seq, SessionId};

    fn entry(seq: u64, source: Party, to: Option<Agent>, kind: EntryKind) -> Entry {
        Entry {
            id: EntryId::new(format!("m{seq}")),
            timestamp_ms: 1,
            session_id: SessionId::new("session_1_aaaaaaaa"),
            target: to.map(Party::Agent),
            content: "a text".to_owned(),
            runtime_session: Some(RuntimeSession::default()),
            seq: Seq(seq),
            ..Entry::new(source, kind)
        }
    }

    fn message() -> EntryKind {
        EntryKind::Message(Message::new(OnBusy::Queue))
    }

    fn says(world: &mut Snapshot, from: Agent) -> u32 {
        let said = entry(world.seq.0 + 1, from.into(), Some(from.peer()), message());
        fold(world, &said);
        world.unsettled[&said.id].answers
    }

    /// Something begins in which the person's prompts are recorded.
    fn begins(world: &mut Snapshot, what: impl Into<EntryKind>) {
        let began = entry(world.seq.0 + 1, Party::System, None, what.into());
        fold(world, &began.with_prompts_recorded());
    }

    fn begun() -> Snapshot {
        let mut world = Snapshot::default();
        begins(&mut world, LifecycleEvent::DaemonStarted);
        world
    }

    #[test]
    fn what_is_said_while_the_persons_prompts_are_not_recorded_is_not_counted() {
        use Agent::{Claude, Codex};
        for next in [
            LifecycleEvent::DaemonStarted,
            LifecycleEvent::DaemonTakenOver,
        ] {
            let mut world = Snapshot::default();
            let before = LifecycleEvent::DaemonStarted.into();
            fold(&mut world, &entry(1, Party::System, None, before));
            let said = [Claude, Codex, Claude].map(|from| says(&mut world, from));
            assert_eq!(said, [0, 0, 0]);
            begins(&mut world, next.clone());
            let said = [Claude, Codex, Claude].map(|from| says(&mut world, from));
            assert_eq!(said, [0, 1, 2]);
            // The next one records them too, and the session after.
            begins(&mut world, next.clone());
            begins(&mut world, EntryKind::SessionStarted { predecessor: None });
            assert_eq!(says(&mut world, Codex), 3);
            // An earlier version comes once more.
            let seq = world.seq.0 + 1;
            fold(&mut world, &entry(seq, Party::System, None, next.into()));
            assert!(world.unsettled.values().all(|message| message.answers == 0));
            assert_eq!([Claude, Codex].map(|from| says(&mut world, from)), [0, 0]);
        }
    }

    #[test]
    fn what_the_person_tells_codex_counts_for_every_pair_and_claude_for_its_own() {
        let other = RuntimeSession::new("other");
        for (to, left) in [(Agent::Claude, 1), (Agent::Codex, 0)] {
            let mut world = begun();
            for from in Agent::ALL {
                says(&mut world, from);
                world.answers_with(other.clone(), from);
            }
            let told = entry(world.seq.0 + 1, Party::Human, Some(to), message());
            fold(&mut world, &told);
            assert_eq!(world.answers_of(&RuntimeSession::default()), 0);
            assert_eq!(world.answers_of(&other), left, "{to}");
        }
    }

    #[test]
    fn what_one_says_in_a_row_is_one_answer_and_a_person_begins_anew() {
        use Agent::{Claude, Codex};
        let mut world = begun();
        let said = [Claude, Claude, Codex, Codex, Claude].map(|from| says(&mut world, from));
        assert_eq!(said, [0, 0, 1, 1, 2]);
        let other = RuntimeSession::new("other");
        for (source, pair, left) in [
            (Party::Agent(Codex), RuntimeSession::default(), 2),
            (Party::System, other, 2),
            (Party::System, RuntimeSession::default(), 0),
        ] {
            let kind = LifecycleEvent::PersonSpoke.into();
            let mut spoke = entry(world.seq.0 + 1, source, None, kind);
            spoke.runtime_session = Some(pair);
            fold(&mut world, &spoke);
            assert_eq!(world.answers_of(&RuntimeSession::default()), left);
        }
        assert!(world.unsettled.values().all(|message| message.answers == 0));
        assert_eq!([Claude, Codex].map(|from| says(&mut world, from)), [0, 1]);
    }

    #[test]
    fn names_of_pairs_do_not_add_up() {
        let mut world = Snapshot::default();
        let long = RuntimeSession::new("long");
        for from in [Agent::Claude, Agent::Codex, Agent::Claude] {
            world.answers_with(long.clone(), from);
        }
        for number in 0..1_000 {
            world.answers_with(RuntimeSession::new(format!("p{number}")), Agent::Claude);
        }
        assert!(world.exchanges.len() <= crate::snapshot::RUNTIME_SESSIONS_MAX);
        assert_eq!(world.answers_of(&long), 2);
    }
}
