//! After a compaction the new file alone makes the same open world, and nothing is sent again.

use std::collections::BTreeMap;
use std::fs;

use tokio::sync::oneshot;

use super::commands::{change_queue, wait_messages};
use super::rig::{Guest, Rig};
use crate::adapters::codex::fact::ReportedStatus;
use crate::core::agent::{Agent, Party};
use crate::core::delivery::OnBusy;
use crate::core::entry::{ArtifactStatus, EntryKind, LifecycleEvent, NoteKind, TreeFound};
use crate::core::id::{EntryId, Seq};
use crate::core::snapshot::{HandoffSnapshot, MessageSnapshot, Snapshot};
use crate::daemon::event::{Event, TreePurpose};
use crate::store::ledger::{self, verify};
use crate::store::testing::Place;
use crate::wire::control::{
    ArtifactParams, Command, CompactParams, Compacted, ContextView, DecideParams,
    GetMessagesParams, HandoffParams, IdsParams, NoteParams, ProposeParams, QueueChange,
    ReadContextParams, RefusalCode, Reply, Role, SendParams,
};

fn message(from: Option<Agent>, to: Agent, text: &str, require_reply: bool) -> Command {
    Command::Send(SendParams {
        from,
        to: Some(to),
        text: text.to_owned(),
        require_reply,
        ..SendParams::default()
    })
}

pub(super) fn hand_off(from: Agent, ask: &str) -> Command {
    Command::Handoff(HandoffParams {
        from: Some(from),
        ask: ask.to_owned(),
        reason: "you know it".to_owned(),
        ..HandoffParams::default()
    })
}

pub(super) fn note(kind: NoteKind, text: &str, handles: Vec<EntryId>) -> Command {
    Command::AppendNote(NoteParams {
        handles,
        ..NoteParams::new(Agent::Claude, kind, text)
    })
}

fn ids(agent: Agent, ids: &[&EntryId]) -> IdsParams {
    IdsParams {
        agent,
        ids: ids.iter().map(|id| (*id).clone()).collect(),
        rung: None,
    }
}

impl Rig {
    pub async fn newest(&mut self, guest: &Guest, command: Command) -> EntryId {
        drop(self.ask(guest, command));
        self.settle().await;
        let unsettled = self.daemon.base.recorder.world().unsettled.iter();
        let newest = unsettled.max_by_key(|(_, message)| message.seq);
        newest.unwrap().0.clone()
    }

    pub async fn compact(&mut self, operator: &Guest) -> Compacted {
        let compact = Command::Compact(CompactParams::default());
        match self.call(operator, compact).await {
            Ok(Reply::Compacted(compacted)) => compacted,
            other => panic!("{other:?}"),
        }
    }
}

/// What has to be the same: everything that is open, whatever its place in the file.
fn open_world(world: &Snapshot) -> impl PartialEq + std::fmt::Debug {
    let unsettled: BTreeMap<_, _> = world
        .unsettled
        .iter()
        .map(|(id, message)| {
            let mut message = MessageSnapshot::clone(message);
            message.seq = Seq(0);
            message.hash = None;
            (id.clone(), message)
        })
        .collect();
    let handoffs: BTreeMap<_, _> = world
        .open_handoffs
        .iter()
        .map(|(id, handoff)| {
            let mut handoff = HandoffSnapshot::clone(handoff);
            handoff.seq = Seq(0);
            (id.clone(), handoff)
        })
        .collect();
    let proposals: BTreeMap<_, _> = world
        .pending_proposals
        .iter()
        .map(|(id, proposal)| (id.clone(), proposal.proposal.clone()))
        .collect();
    let questions: Vec<_> = world.open_questions.values().cloned().collect();
    (unsettled, handoffs, proposals, questions)
}

struct Ids {
    delivered: EntryId,
    blocked: EntryId,
    read: EntryId,
    unread: EntryId,
    ambiguous: EntryId,
    proposal: EntryId,
}

/// A session with something of every kind that can be open, and of every kind that is over.
async fn at_work(rig: &mut Rig, claude: &Guest, operator: &Guest) -> Ids {
    rig.call(claude, note(NoteKind::Goal, "the goal", Vec::new()))
        .await
        .unwrap();
    rig.call(claude, note(NoteKind::Plan, "an old plan", Vec::new()))
        .await
        .unwrap();
    rig.call(claude, note(NoteKind::Plan, "the plan", Vec::new()))
        .await
        .unwrap();
    rig.call(claude, note(NoteKind::Note, "by the way", Vec::new()))
        .await
        .unwrap();
    rig.call(
        claude,
        note(NoteKind::Decision, "we use a lock", Vec::new()),
    )
    .await
    .unwrap();

    // Handed over, delivered and open; one that is closed; one that is blocked.
    let delivered = rig
        .newest(claude, hand_off(Agent::Claude, "review it"))
        .await;
    rig.user_message("turn-1", Some(&delivered));
    rig.settle().await;
    let closed = rig
        .newest(claude, hand_off(Agent::Claude, "explain it"))
        .await;
    rig.user_message("turn-2", Some(&closed));
    rig.settle().await;
    rig.call(claude, note(NoteKind::Note, "done", vec![closed]))
        .await
        .unwrap();
    let blocked = rig.newest(claude, hand_off(Agent::Claude, "test it")).await;
    rig.user_message("turn-3", Some(&blocked));
    rig.settle().await;
    let blocker = note(NoteKind::Blocker, "no database", vec![blocked.clone()]);
    rig.call(claude, blocker).await.unwrap();

    // An answered question and an open one.
    for (turn, text) in [("turn-4", "which lock?"), ("turn-5", "which timeout?")] {
        let question = message(Some(Agent::Claude), Agent::Codex, text, true);
        let question = rig.newest(claude, question).await;
        rig.user_message(turn, Some(&question));
        rig.settle().await;
        if turn == "turn-4" {
            let answer = SendParams {
                from: Some(Agent::Codex),
                text: "the std one".to_owned(),
                turn_id: Some("turn-4".to_owned()),
                in_reply_to: Some(question),
                ..SendParams::default()
            };
            let codex = rig.connect(Role::Codex, None, false);
            let answer = rig.newest(&codex, Command::Send(answer)).await;
            let ack = Command::Ack(ids(Agent::Claude, &[&answer]));
            rig.call(claude, ack).await.unwrap();
        }
    }

    // For Claude: read and not acknowledged, and not read.
    let read = rig
        .newest(operator, message(None, Agent::Claude, "read", false))
        .await;
    let fetched = Command::Fetched(ids(Agent::Claude, &[&read]));
    rig.call(claude, fetched).await.unwrap();
    let unread = rig
        .newest(operator, message(None, Agent::Claude, "unread", false))
        .await;

    // For Codex: nobody can know.
    let ambiguous = message(Some(Agent::Claude), Agent::Codex, "maybe", false);
    let ambiguous = rig.newest(claude, ambiguous).await;
    rig.nobody_knows(&ambiguous);
    rig.settle().await;

    let (reply, proposed) = oneshot::channel();
    rig.daemon.on_event(Event::TreeRead {
        purpose: TreePurpose::Propose {
            conn: claude.conn,
            params: ProposeParams {
                agent: Agent::Claude,
                summary: "all done".to_owned(),
                evidence: vec!["tests".to_owned()],
                remaining_risk: None,
                handles: vec![delivered.clone()],
                runtime_session_id: None,
            },
            reply: Some(reply),
        },
        tree: TreeFound::NoRepository,
        changed: None,
    });
    rig.settle().await;
    let Ok(Reply::Proposed(proposed)) = proposed.await.unwrap() else {
        panic!("not proposed");
    };
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
    rig.delivered();
    Ids {
        delivered,
        blocked,
        read,
        unread,
        ambiguous,
        proposal: proposed.proposal_id,
    }
}

#[tokio::test]
async fn what_is_open_goes_on_under_its_ids_and_nothing_is_delivered_again() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let operator = rig.connect(Role::Deck, None, true);
    let ids = at_work(&mut rig, &claude, &operator).await;
    let old = rig.daemon.base.recorder.session_id().clone();
    let before = rig.daemon.base.recorder.world().clone();
    assert_eq!(before.unsettled.len(), 3);
    assert_eq!(before.open_handoffs.len(), 2);
    assert_eq!(before.open_questions.len(), 1);
    let states: BTreeMap<_, _> = [&ids.read, &ids.unread, &ids.ambiguous]
        .map(|id| {
            (
                id.clone(),
                rig.daemon.deliveries.outbox.get(id).unwrap().state,
            )
        })
        .into();

    let compacted = rig.compact(&operator).await;
    assert_eq!(compacted.sealed, old);
    let live = (**rig.daemon.base.recorder.world()).clone();
    assert_eq!(open_world(&live), open_world(&before));
    for (id, state) in &states {
        let row = rig.daemon.deliveries.outbox.get(id).unwrap();
        assert_eq!((row.state, row.seq), (*state, live.unsettled[id].seq));
    }
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
    assert_eq!(rig.delivered_ids(), [], "nothing goes out again");

    // Both files verify, and the new one grows from the old one's head.
    let archive = place.dirs.archives().join(format!("{old}.jsonl"));
    assert_eq!(compacted.archive, archive.display().to_string());
    for path in [&archive, &place.dirs.ledger(&compacted.session_id)] {
        let report = verify(path, None).unwrap();
        assert!(report.ok, "{report:?}");
    }
    let before_it = live.predecessor.clone().unwrap();
    assert_eq!(
        (before_it.session_id, before_it.head),
        (old.clone(), compacted.head)
    );

    // Carried entries say where they stood, and are the same but for that.
    let carried = rig
        .daemon
        .base
        .recorder
        .stored(live.open_handoffs[&ids.delivered].seq)
        .unwrap();
    let origin = carried.entry.carried.clone().unwrap();
    assert_eq!(origin.session_id, old);
    assert_eq!(origin.seq, before.open_handoffs[&ids.delivered].seq);
    assert!(origin.settled);

    // The goal, the plan and the decision are there for whoever reads; the rest is counted.
    let read = Command::ReadContext(ReadContextParams {
        view: ContextView::Summary,
        ..ReadContextParams::default()
    });
    let Ok(Reply::Context(page)) = rig.call(&claude, read).await else {
        panic!("no context");
    };
    let texts = serde_json::to_string(&page.entries).unwrap();
    for text in ["the goal", "the plan", "we use a lock", "1 handoff closed"] {
        assert!(texts.contains(text), "{text}: {texts}");
    }
    assert!(
        !texts.contains("an old plan") && !texts.contains("by the way"),
        "{texts}"
    );
    assert_eq!(page.open_handoffs.len(), 2);

    drop(rig);
    let (replayed, _) = Rig::replayed(&place);
    assert_eq!(replayed, live, "fold(file) == live");
}

#[tokio::test]
async fn what_failed_and_was_not_taken_back_stands_in_the_way_behind_a_compaction_too() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let operator = rig.connect(Role::Deck, None, true);
    let (bad, good) = (ArtifactStatus::Failed, ArtifactStatus::Passed);
    for (title, status) in [("unit", bad), ("e2e", bad), ("e2e", good)] {
        let claim = Command::RecordArtifact(ArtifactParams {
            agent: Agent::Claude,
            kind: "test_report".to_owned(),
            title: title.to_owned(),
            summary: "as it came".to_owned(),
            status,
            evidence: Vec::new(),
            runtime_session_id: None,
        });
        rig.call(&claude, claim).await.unwrap();
    }
    let blockers = |rig: &Rig| rig.daemon.base.recorder.world().blockers_except(&[]);
    let before = blockers(&rig);
    assert_eq!(before.len(), 1, "{before:?}");
    assert!(before[0].contains("unit"), "{before:?}");
    rig.compact(&operator).await;
    assert_eq!(blockers(&rig), before);
}

#[tokio::test]
async fn the_ids_that_agents_hold_go_on_working_also_after_a_restart() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let operator = rig.connect(Role::Deck, None, true);
    let ids = at_work(&mut rig, &claude, &operator).await;
    rig.compact(&operator).await;
    drop(rig);

    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let operator = rig.connect(Role::Deck, None, true);
    assert_eq!(rig.delivered_ids(), [], "nothing goes out again");
    let get = Command::GetMessages(GetMessagesParams {
        ack: vec![ids.read.clone()],
        ..GetMessagesParams::of(Agent::Claude)
    });
    let Ok(Reply::Messages(page)) = rig.call(&claude, get).await else {
        panic!("no messages");
    };
    assert_eq!(page.acked, std::slice::from_ref(&ids.read));
    let (unread, told) = page.messages.split_at(1);
    assert_eq!(unread[0].message_id, ids.unread);
    // The turns of two handoffs ended with the daemon; how that of the question did Codex will tell.
    let about: Vec<_> = told.iter().map(|told| told.in_reply_to.as_ref()).collect();
    assert_eq!(about, [Some(&ids.delivered), Some(&ids.blocked)]);
    let close = note(
        NoteKind::Note,
        "there is one now",
        vec![ids.blocked.clone()],
    );
    rig.call(&claude, close).await.unwrap();
    assert!(
        !rig.daemon
            .base
            .recorder
            .world()
            .open_handoffs
            .contains_key(&ids.blocked)
    );
    let (reply, decided) = oneshot::channel();
    rig.daemon.on_event(Event::TreeRead {
        purpose: TreePurpose::Decide {
            params: DecideParams::of(ids.proposal.clone(), true),
            reply,
        },
        tree: TreeFound::NoRepository,
        changed: None,
    });
    rig.settle().await;
    decided.await.unwrap().unwrap();
    assert_eq!(
        rig.daemon.base.recorder.world().open_handoffs.len(),
        0,
        "as the proposal said"
    );
    // Codex is told, and then gets what else is for it.
    let told = rig.delivered_ids();
    assert_eq!(told.len(), 1);
    rig.user_message("turn-6", Some(&told[0]));
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
    let retry = change_queue(ids.ambiguous.clone(), QueueChange::Retry);
    rig.call(&operator, retry).await.unwrap();
    rig.settle().await;
    assert_eq!(rig.delivered_ids(), [ids.ambiguous]);
}

#[tokio::test]
async fn an_answer_that_nobody_read_can_still_be_waited_for_by_its_question() {
    let mut rig = Rig::fresh().await;
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let codex = rig.connect(Role::Codex, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    let said = |from, require_reply, in_reply_to| {
        Command::Send(SendParams {
            from: Some(from),
            text: "which lock?".to_owned(),
            require_reply,
            in_reply_to,
            ..SendParams::default()
        })
    };
    let asked = rig.newest(&claude, said(Agent::Claude, true, None)).await;
    let fetched = Command::Fetched(ids(Agent::Codex, &[&asked]));
    rig.call(&codex, fetched).await.unwrap();
    let reply = said(Agent::Codex, false, Some(asked.clone()));
    let reply = rig.newest(&codex, reply).await;
    rig.compact(&operator).await;
    assert_eq!(
        rig.daemon.base.recorder.ledger().seq_of(&asked).unwrap(),
        None
    );
    let wait = wait_messages(Agent::Claude, Some(asked), 50_000);
    let Ok(Reply::Messages(page)) = rig.call(&claude, wait).await else {
        panic!("no answer");
    };
    assert_eq!(page.messages[0].message_id, reply);
}

#[tokio::test]
async fn compacted_twice_an_entry_still_names_where_it_stood_first() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let operator = rig.connect(Role::Deck, None, true);
    let ids = at_work(&mut rig, &claude, &operator).await;
    let (first, seq) = (
        rig.daemon.base.recorder.session_id().clone(),
        rig.daemon.base.recorder.world().open_handoffs[&ids.delivered].seq,
    );
    let before = rig.daemon.base.recorder.world().clone();
    let one = rig.compact(&operator).await;
    let two = rig.compact(&operator).await;
    assert_eq!((&one.sealed, &two.sealed), (&first, &one.session_id));
    let world = rig.daemon.base.recorder.world().clone();
    assert_eq!(open_world(&world), open_world(&before));
    let carried = rig
        .daemon
        .base
        .recorder
        .stored(world.open_handoffs[&ids.delivered].seq)
        .unwrap();
    let origin = carried.entry.carried.clone().unwrap();
    assert_eq!((origin.session_id, origin.seq), (first, seq));
    // The second digest knows of the first.
    let digest =
        rig.daemon
            .base
            .recorder
            .recent()
            .iter()
            .find_map(|stored| match &stored.entry.kind {
                EntryKind::Other {
                    entry_type, detail, ..
                } if entry_type == "summary" => Some(detail["digest"].clone()),
                _ => None,
            });
    let digest = digest.unwrap();
    assert_eq!(digest["earlier"]["sessions"], 1);
    assert_eq!(digest["earlier"]["closedHandoffs"], 1);
    assert_eq!(digest["earlier"]["entries"], before.entries);
    assert_eq!(digest["notes"][0]["text"], "the goal");
}

#[tokio::test]
async fn a_long_text_is_carried_by_its_hash() {
    let mut rig = Rig::fresh().await;
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let operator = rig.connect(Role::Deck, None, true);
    let text = format!("{}the very end", "word ".repeat(5_000));
    let id = rig
        .newest(&operator, message(None, Agent::Claude, &text, false))
        .await;
    rig.compact(&operator).await;
    let (mut read, mut after) = (String::new(), None);
    for more in [true, false] {
        let get = Command::GetMessages(GetMessagesParams {
            after,
            ..GetMessagesParams::of(Agent::Claude)
        });
        let Ok(Reply::Messages(page)) = rig.call(&claude, get).await else {
            panic!("no messages");
        };
        assert_eq!(page.messages[0].message_id, id);
        assert_eq!(page.more, more);
        read.push_str(&page.messages[0].text);
        after = page.cursor;
    }
    assert!(read.contains(&text));
    let report = verify(rig.daemon.base.recorder.ledger().path(), None).unwrap();
    assert_eq!((report.ok, report.blobs.texts), (true, 1));
}

#[tokio::test]
async fn it_is_the_operators_and_waits_for_what_is_on_its_way() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    let session = rig.daemon.base.recorder.session_id().clone();
    let compact = || Command::Compact(CompactParams::default());
    let refusal = rig.call(&claude, compact()).await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::OperatorOnly);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let refusal = rig.call(&operator, compact()).await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::InFlight);
    rig.user_message("turn-1", Some(&id));
    rig.settle().await;
    let stale = Command::Compact(CompactParams {
        session_id: Some(crate::core::id::SessionId::new("session_1_x")),
        ..CompactParams::default()
    });
    assert_eq!(
        rig.call(&operator, stale).await.unwrap_err().code,
        RefusalCode::StaleSession
    );
    assert_eq!(*rig.daemon.base.recorder.session_id(), session);
    let compacted = rig.compact(&operator).await;
    // The decision stands in both files, as the operator's.
    for path in [
        compacted.archive.as_ref(),
        rig.daemon.base.recorder.ledger().path(),
    ] {
        let mut by_human = 0;
        ledger::read(path, |stored| {
            let is_decision = matches!(
                &stored.entry.kind,
                EntryKind::Lifecycle {
                    event: LifecycleEvent::SessionCompacted
                }
            ) || matches!(&stored.entry.kind, EntryKind::SessionStarted { .. });
            by_human += u32::from(is_decision && stored.entry.source == Party::Human);
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(by_human, 1, "{}", path.display());
    }
    assert_eq!(fs::read_dir(place.dirs.archives()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_record_that_cannot_be_opened_for_a_compaction_is_unreadable_and_not_edited() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    rig.settle().await;
    let path = rig.daemon.base.recorder.ledger().path().to_owned();
    let away = path.with_extension("away");
    fs::rename(&path, &away).unwrap();
    let compact = Command::Compact(CompactParams::default());
    let refused = rig.call(&operator, compact).await.unwrap_err();
    assert_eq!(refused.code, RefusalCode::LedgerUnreadable, "{refused:?}");
    fs::rename(&away, &path).unwrap();
    rig.compact(&operator).await;
}
