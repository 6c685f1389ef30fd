//! The scenes match what the deck makes of such entries: README's pictures show the product.

use ctxrelay_ui::Msg;
use ctxrelay_ui::scenes::{NOW_MS, compacted, disconnected, failed, pair_at_work, scene, trouble};

use super::*;
use crate::core::agent::{AgentState, Party};
use crate::core::delivery::{OnBusy, Watched};
use crate::core::entry::{
    Artifact, Compaction, ContinuityRecord, DeliveryRecord, FinalityProposal, Handoff, Message,
    NoteKind,
};
use crate::core::id::{RuntimeSession, Seq, SessionId};
use crate::deck::deck_about::DeckAbout;
use crate::deck::followed::model::{DaemonLink, Model};
use crate::deck::followed::row_detail;
use crate::deck::present::present;
use crate::wire::status::{SilenceStatus, ToolSort, ToolStatus};

const SESSION: &str = "s";

/// The handoff that is read in the scenes.
const OPENED: u64 = 1_201;

fn party(of: &ui::Party) -> Party {
    match of {
        ui::Party::Agent(ui::Agent::Claude) => Agent::Claude.into(),
        ui::Party::Agent(ui::Agent::Codex) => Agent::Codex.into(),
        ui::Party::Human => Party::Human,
        ui::Party::System => Party::System,
        ui::Party::Other(name) => Party::Other(name.clone()),
    }
}

fn id(seq: u64) -> EntryId {
    EntryId::new(format!("m-{seq:04x}"))
}

fn message(in_reply_to: Option<u64>) -> EntryKind {
    EntryKind::Message(Message {
        in_reply_to: in_reply_to.map(id),
        ..Message::new(OnBusy::Queue)
    })
}

fn note(note: NoteKind) -> EntryKind {
    EntryKind::note(note)
}

fn handoff(reason: &str, context_refs: &[&str]) -> EntryKind {
    EntryKind::Handoff(Handoff {
        reason: reason.to_owned(),
        context_refs: context_refs.iter().map(|&one| one.to_owned()).collect(),
        ..Handoff::default()
    })
}

/// What each row of the scenes is of.
fn kind(seq: u64) -> EntryKind {
    let why = "I changed the refresh path and want a second pair of eyes before I call it done.";
    match seq {
        1_190 => message(None),
        1_191 => note(NoteKind::Goal),
        1_192 => note(NoteKind::Plan),
        1_193 => handoff("", &[]),
        1_196 => message(Some(1_193)),
        1_198 => EntryKind::FinalityProposal(FinalityProposal {
            summary: "token refresh is done".to_owned(),
            handles: vec![id(1_193)],
            ..FinalityProposal::default()
        }),
        1_199 => EntryKind::Artifact(Artifact {
            kind: "test report".into(),
            title: "2 of 118".to_owned(),
            summary: "refresh_is_single_flight and rotation_forgets_the_old_token".to_owned(),
            status: ArtifactStatus::Failed,
            ..Artifact::default()
        }),
        1_200 => note(NoteKind::Decision),
        OPENED => handoff(why, &["src/auth/refresh.rs", "entry 1 188"]),
        1_204 => message(Some(OPENED)),
        1_205 => EntryKind::Continuity(ContinuityRecord {
            agent: Agent::Claude,
            fact: ContinuityFact::Compacted(Compaction {
                trigger: CompactionTrigger::Auto,
                tokens_before: Some(236_000),
                tokens_after: Some(41_000),
            }),
        }),
        other => unreachable!("no row of line {other}"),
    }
}

/// The entry that a row of the scenes stands for: its words as they were written, and no more of what
/// is shown.
fn entry(row: &ui::TimelineRow) -> Entry {
    Entry {
        id: EntryId::new(row.id.clone()),
        timestamp_ms: row.at_ms,
        session_id: SessionId::new(SESSION),
        target: row.to.as_ref().map(party),
        content: row.text.clone(),
        runtime_session: Some(RuntimeSession::default()),
        seq: Seq(row.seq),
        ..Entry::new(party(&row.from), kind(row.seq))
    }
}

/// What became of a message: of which, how, by which way, and how long after it was written.
type Step = (u64, DeliveryResult, DeliveryWay, i64);

const STEPS: [Step; 5] = [
    (1_190, DeliveryResult::Confirmed, DeliveryWay::Hook, 640),
    (1_190, DeliveryResult::Acknowledged, DeliveryWay::Hook, 900),
    (1_193, DeliveryResult::Confirmed, DeliveryWay::Steer, 4),
    (1_196, DeliveryResult::Confirmed, DeliveryWay::Pull, 1_900),
    (OPENED, DeliveryResult::Confirmed, DeliveryWay::Queue, 3),
];

/// The lines between the rows are of none of them.
fn append(model: &mut Model, entry: &Entry) {
    model.world.seq = Seq(entry.seq.0 - 1);
    assert!(model.append(entry));
}

/// A deck that has read all of it.
fn model(rows: &[ui::TimelineRow]) -> Model {
    let mut model = Model::new(DaemonLink::Hosting, DeckAbout::default());
    for row in rows.iter().filter(|row| row.folded.is_none()) {
        append(&mut model, &entry(row));
    }
    let last = rows.last().unwrap().seq;
    for (step, seq) in STEPS.into_iter().zip(last + 1..) {
        append(&mut model, &delivery(rows, step, seq));
    }
    model
}

/// The entry of one of [`STEPS`].
fn delivery(rows: &[ui::TimelineRow], step: Step, seq: u64) -> Entry {
    let (of, result, way, after_ms) = step;
    let written = rows.iter().find(|row| row.seq == of).unwrap();
    let to = entry(written).receiver().unwrap();
    let given = "[ctxrelay handoff m-04b1 from peer Claude, not from your operator; just now]";
    let record = DeliveryRecord {
        message_id: id(of),
        attempt_id: None,
        to,
        result,
        outcome: None,
        // Of its own accord, and not by the end of the turn that had it.
        rung: (result != DeliveryResult::Acknowledged).then_some(way),
        turn_id: None,
        given: (of == OPENED).then(|| given.to_owned()),
    };
    Entry {
        id: id(seq),
        timestamp_ms: written.at_ms + after_ms,
        source: Party::System,
        target: Some(to.into()),
        content: String::new(),
        kind: EntryKind::Delivery(record),
        seq: Seq(seq),
        ..entry(written)
    }
}

#[test]
fn the_rows_of_the_scenes_are_those_that_such_entries_make() {
    let rows = pair_at_work().timeline;
    let model = model(&rows);
    for shown in &rows {
        let Some(folded) = shown.folded else {
            assert_eq!(&row(&model.row_facts(), &entry(shown), false), shown);
            continue;
        };
        let run = MachineRun {
            first: shown.seq,
            last: folded.last,
            at_ms: shown.at_ms,
            deliveries: 1,
            steps: 1,
            news: 0,
            news_line: None,
            findings: 0,
        };
        let told = machine_text(&run, "");
        let made = ui::TimelineRow::of_folded(run.first, run.at_ms, folded, told);
        assert_eq!(&made, shown);
    }
}

#[test]
fn what_is_read_of_an_opened_entry_in_the_scenes_is_what_such_an_entry_tells() {
    let rows = pair_at_work().timeline;
    let model = model(&rows);
    let told = scene("entry_open").unwrap().told.unwrap();
    let Msg::EntryText { detail, text, .. } = told() else {
        panic!("an entry is read");
    };
    let opened = rows.iter().find(|row| row.seq == OPENED).unwrap();
    assert_eq!(opened.text, text);
    assert_eq!(
        row_detail::detail(&model.row_facts(), &entry(opened)),
        detail
    );
}

#[test]
fn a_compaction_and_a_message_in_doubt_stand_in_the_scenes_as_such_entries_make_them() {
    let rows = pair_at_work().timeline;
    let mut model = model(&rows);
    let shown = compacted().timeline.pop().unwrap();
    let compaction = Entry {
        content: "what was done until then".to_owned(),
        ..entry(&shown)
    };
    assert_eq!(row(&model.row_facts(), &compaction, false), shown);
    let shown = trouble().timeline.pop().unwrap();
    let doubt = (shown.seq, DeliveryResult::Ambiguous, DeliveryWay::Hook, 900);
    append(&mut model, &delivery(&rows, doubt, 1_300));
    assert_eq!(row(&model.row_facts(), &entry(&shown), false), shown);
}

#[test]
fn the_thread_of_the_scenes_is_of_one_handoff_and_of_such_entries() {
    let rows = pair_at_work().timeline;
    let model = model(&rows);
    let told = scene("thread").unwrap().told.unwrap();
    let Msg::Thread(thread) = told() else {
        panic!("a thread is read");
    };
    for shown in thread.rows {
        let made = row(&model.row_facts(), &entry(&shown), false);
        match &made.thread {
            Some(name) => assert_eq!(name, &thread.name),
            // It belongs to none, and was made while this one was worked on.
            None => assert_eq!(shown.mark.as_deref(), Some("made meanwhile")),
        }
        let mark = shown.mark.clone();
        assert_eq!(ui::TimelineRow { mark, ..made }, shown);
    }
}

#[test]
fn the_tasks_of_the_scenes_are_named_by_their_entries() {
    let view = pair_at_work();
    for row in view.handoffs.iter() {
        assert_eq!(row.id_short, format!("h{}", row.seq));
    }
    let model = model(&view.timeline);
    let open = model.work.open();
    for seq in [1_193, OPENED] {
        let found = |rows: &ui::HandoffRows| rows.iter().find(|row| row.seq == seq).cloned();
        let (made, shown) = (found(open).unwrap(), found(&view.handoffs).unwrap());
        assert_eq!(made.id_short, shown.id_short);
        assert_eq!((&made.from, &made.to), (&shown.from, &shown.to));
    }
}

#[test]
fn what_a_lost_daemon_told_last_stands_in_the_scenes_as_the_deck_shows_it() {
    let known = |card: &ui::AgentCard| {
        let (tool, silence) = (card.tool.clone(), card.silence.clone());
        (card.agent, card.state, card.since_ms, tool, silence)
    };
    let agents = |view: &ui::DeckView| view.agents.iter().map(known).collect::<Vec<_>>();
    let is_stuck = |card: &ui::InboxCard| card.kind == ui::InboxKind::Stuck;
    for shown in [disconnected(), failed()] {
        let mut model = model(&shown.timeline);
        model.is_read = true;
        let told = &mut model.status.agents;
        told.claude.state = AgentState::Idle;
        told.claude.since = Some(NOW_MS - 95_000);
        told.codex.state = AgentState::Busy;
        told.codex.since = Some(NOW_MS - 41_000);
        told.codex.tool = Some(ToolStatus {
            sort: ToolSort::Command,
            text: "cargo test".to_owned(),
            since: NOW_MS - 30_000,
        });
        told.codex.silence = Some(SilenceStatus {
            level: Watched::Stuck,
            since: NOW_MS - 41_000,
            ..SilenceStatus::default()
        });
        let live = present(&model, NOW_MS);
        assert!(live.inbox.iter().any(is_stuck));
        // It is lost when it first does not answer, whatever is known of it later.
        let refused = DaemonLink::Reconnecting("refused".to_owned());
        model.set_link(refused, NOW_MS - 20_000);
        let why = shown.daemon.message.clone().unwrap();
        let link = match shown.daemon.state {
            ui::DaemonState::Ended => DaemonLink::Ended(why),
            _ => DaemonLink::Reconnecting(why),
        };
        model.set_link(link, NOW_MS - 5_000);
        let lost = present(&model, NOW_MS);
        assert_eq!(agents(&lost), agents(&shown));
        assert_eq!(lost.banner, shown.banner);
        assert!(!lost.inbox.iter().any(is_stuck));
        model.set_link(DaemonLink::Hosting, NOW_MS);
        assert_eq!(agents(&present(&model, NOW_MS)), agents(&live));
        // Who was not there has not come.
        model.status.agents.claude.state = AgentState::Offline;
        model.set_link(DaemonLink::Reconnecting("refused".to_owned()), NOW_MS);
        let states = present(&model, NOW_MS).agents;
        let states: Vec<_> = states.iter().map(|card| card.state).collect();
        assert_eq!(states, [ui::AgentState::Offline, ui::AgentState::Stale]);
    }
}
