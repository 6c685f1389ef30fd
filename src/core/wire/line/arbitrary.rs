//! Entries of every kind, for property tests.

mod approvals;
mod continuity;
mod evidence;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::agent::{Agent, AgentState, Party};
use crate::entry::{
    AgentChanged, CarriedEntry, DeliveryRecord, DeliveryResult, DeliveryWay, Entry, EntryKind,
    FINDING, Fate, Handoff, Message, NoteKind, OnBusy, Outcome, Predecessor, SealedSession, TASK,
    TaskRecord, TurnFiles, TurnRecord, TurnStatus, WorkTree,
};
use crate::id::{
    AttemptId, CapsuleId, EntryId, FindingId, RuntimeSession, Seq, SessionId, ThreadId, TurnId,
};
use crate::whole::Whole;
use approvals::approval;
use continuity::continuity;
use evidence::{artifact, decision, finding, proposal};

/// Few enough that entries refer to each other.
fn id() -> impl Strategy<Value = EntryId> {
    prop_oneof![
        9 => (0..20u32).prop_map(|n| EntryId::new(format!("e{n}"))),
        1 => "[^\u{0}]{1,12}".prop_map(EntryId::new),
    ]
}

fn ids() -> impl Strategy<Value = Vec<EntryId>> {
    prop::collection::vec(id(), 0..3)
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ -~]{0,40}",
        1 => any::<String>(),
        1 => Just("password=hunter2".to_owned()),
        1 => Just("\u{1b}[2J\r\n\t\"\\\u{7f}\u{2028}é漢🦀".to_owned()),
    ]
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(text(), 0..3)
}

fn agent() -> impl Strategy<Value = Agent> {
    prop::sample::select(Agent::ALL.to_vec())
}

fn party() -> impl Strategy<Value = Party> {
    prop_oneof!["claude|codex|human|system", text(),].prop_map(Party::from)
}

fn on_busy() -> impl Strategy<Value = OnBusy> {
    prop::sample::select(vec![OnBusy::Queue, OnBusy::Steer, OnBusy::Reject])
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop::sample::select(vec![
        Outcome::JoinedActiveWork,
        Outcome::StartedNewTurn,
        Outcome::DeliveredLive,
        Outcome::QueuedForNextTurn,
        Outcome::Rejected,
        Outcome::Ambiguous,
    ])
}

fn tree() -> impl Strategy<Value = WorkTree> {
    (prop::option::of(text()), text(), any::<u64>()).prop_map(|(commit, tree, changed)| WorkTree {
        commit,
        tree,
        changed,
    })
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Map<String, Value>> {
    let key = prop_oneof!["[a-z_]{1,12}", text()];
    let reserved = |key: &String| {
        super::ENVELOPE.contains(&key.as_str())
            || key == super::HANDLES_ONE
            || key == super::RUNTIME_SESSION
    };
    prop::collection::vec((key, value()), 0..4).prop_map(move |pairs| {
        pairs
            .into_iter()
            .filter(|(key, _)| !reserved(key))
            .collect()
    })
}

fn message() -> impl Strategy<Value = EntryKind> {
    let turn = prop::option::of(text().prop_map(TurnId::new));
    (
        on_busy(),
        any::<bool>(),
        ids(),
        prop::option::of(id()),
        turn,
        prop::option::of(id()),
    )
        .prop_map(
            |(on_busy, require_reply, handles, in_reply_to, from_turn, decision)| {
                EntryKind::Message(Message {
                    on_busy,
                    require_reply,
                    handles,
                    in_reply_to,
                    from_turn,
                    decision,
                })
            },
        )
}

fn handoff() -> impl Strategy<Value = EntryKind> {
    (text(), texts(), on_busy(), ids()).prop_map(|(reason, context_refs, on_busy, handles)| {
        EntryKind::Handoff(Handoff {
            reason,
            context_refs,
            on_busy,
            handles,
        })
    })
}

fn note_kind() -> impl Strategy<Value = NoteKind> {
    prop::sample::select(vec![
        NoteKind::Goal,
        NoteKind::Plan,
        NoteKind::Decision,
        NoteKind::Blocker,
        NoteKind::NextStep,
        NoteKind::Question,
        NoteKind::Hypothesis,
        NoteKind::Constraint,
        NoteKind::Assumption,
        NoteKind::Done,
        NoteKind::Note,
    ])
}

fn note() -> impl Strategy<Value = EntryKind> {
    (note_kind(), ids(), prop::option::of(id())).prop_map(|(note, handles, withdraws)| {
        EntryKind::Note {
            note,
            handles,
            withdraws,
        }
    })
}

fn delivery() -> impl Strategy<Value = EntryKind> {
    let result = prop::sample::select(vec![
        DeliveryResult::Confirmed,
        DeliveryResult::Acknowledged,
        DeliveryResult::Rejected,
        DeliveryResult::Expired,
        DeliveryResult::Ambiguous,
        DeliveryResult::Cancelled,
        DeliveryResult::Requeued,
    ]);
    let attempt = prop::option::of(text().prop_map(AttemptId::new));
    let turn = prop::option::of(text().prop_map(TurnId::new));
    let outcome = prop::option::of(outcome());
    let rung = prop::option::of(text().prop_map(DeliveryWay::from));
    let given = prop::option::of(text());
    (id(), attempt, agent(), result, outcome, rung, turn, given).prop_map(
        |(message_id, attempt_id, to, result, outcome, rung, turn_id, given)| {
            EntryKind::Delivery(DeliveryRecord {
                message_id,
                attempt_id,
                to,
                result,
                outcome,
                rung,
                turn_id,
                given,
            })
        },
    )
}

fn agent_changed() -> impl Strategy<Value = EntryKind> {
    let state = prop::sample::select(vec![
        AgentState::Idle,
        AgentState::Busy,
        AgentState::Waiting,
        AgentState::Limited,
        AgentState::Stale,
        AgentState::Offline,
    ]);
    let thread = prop::option::of(text().prop_map(ThreadId::new));
    let pid = prop::option::of(any::<u32>());
    let until = prop::option::of(any::<i64>());
    (agent(), state, pid, thread, prop::option::of(text()), until).prop_map(
        |(agent, state, pid, thread_id, why, until_ms)| {
            EntryKind::AgentChanged(AgentChanged {
                agent,
                state,
                pid,
                thread_id,
                why,
                until_ms,
            })
        },
    )
}

fn turn() -> impl Strategy<Value = EntryKind> {
    let status = prop::sample::select(vec![
        TurnStatus::InProgress,
        TurnStatus::Completed,
        TurnStatus::Interrupted,
        TurnStatus::Failed,
    ]);
    let stopped_by = prop::option::of(party());
    (text(), "t[0-3]", status, party(), stopped_by).prop_map(
        |(thread, turn, status, started_by, stopped_by)| {
            EntryKind::Turn(TurnRecord {
                thread_id: ThreadId::new(thread),
                turn_id: TurnId::new(turn),
                status,
                started_by,
                stopped_by,
            })
        },
    )
}

fn task() -> impl Strategy<Value = EntryKind> {
    let step = "opened|used|closed|reopened|exported|kept|[a-z_]{0,9}";
    let dropped = prop::collection::btree_map("decisions|touched", any::<u64>(), 0..2);
    let dropped = (dropped, prop::collection::btree_set(any::<u64>(), 0..3));
    let record = (task_id(), step, prop::option::of(id()), dropped);
    record.prop_map(|(task, step, handoff, (dropped, forgotten))| {
        EntryKind::Task(TaskRecord {
            task,
            step: step.into(),
            handoff,
            dropped,
            forgotten,
        })
    })
}

/// Few, so that entries belong to tasks that there are.
fn task_id() -> impl Strategy<Value = CapsuleId> {
    "cap_00000000000[0-3]".prop_map(CapsuleId::new)
}

/// Few, so that steps are about findings that there are.
fn finding_id() -> impl Strategy<Value = FindingId> {
    prop_oneof![9 => "gh:rc:[0-3]", 1 => text()].prop_map(FindingId::new)
}

fn other() -> impl Strategy<Value = EntryKind> {
    let unknown = (
        "summary|decision|backup_request|backup_result|x-[a-z]{1,8}",
        object(),
        ids(),
    )
        .prop_map(|(entry_type, detail, handles)| EntryKind::Other {
            entry_type,
            detail,
            handles,
        });
    let foreign_event = (object(), ids()).prop_map(|(mut detail, handles)| {
        detail.insert(
            "runtimeEvent".to_owned(),
            json!({"kind": "codex_ready", "status": "ok"}),
        );
        EntryKind::Other {
            entry_type: "runtime_event".to_owned(),
            detail,
            handles,
        }
    });
    prop_oneof![unknown, foreign_event]
}

/// Any kind.
pub fn kind() -> impl Strategy<Value = EntryKind> {
    let earlier = (text(), text()).prop_map(|(session, head)| SealedSession {
        session_id: SessionId::new(session),
        head,
    });
    let earlier = prop::option::of(earlier);
    let predecessor = (text(), any::<u64>(), text(), fate(), earlier).prop_map(
        |(session, entries, head, fate, earlier)| Predecessor {
            session_id: SessionId::new(session),
            entries,
            head,
            fate,
            earlier,
        },
    );
    prop_oneof![
        prop::option::of(predecessor)
            .prop_map(|predecessor| EntryKind::SessionStarted { predecessor }),
        message(),
        handoff(),
        note(),
        artifact(),
        finding(),
        proposal(),
        decision(),
        delivery(),
        agent_changed(),
        turn(),
        approval(),
        continuity(),
        task(),
        "daemon_started|[a-z_]{0,12}".prop_map(|event| EntryKind::Lifecycle {
            event: event.into(),
        }),
        text().prop_map(|code| EntryKind::Error { code: code.into() }),
        other(),
    ]
}

fn fate() -> impl Strategy<Value = Fate> {
    prop::sample::select(vec![Fate::Archived, Fate::Compacted, Fate::Discarded])
}

fn whole() -> impl Strategy<Value = Whole> {
    ("[0-9a-f]{64}", any::<u64>()).prop_map(|(sha256, units)| Whole { sha256, units })
}

fn carried() -> impl Strategy<Value = CarriedEntry> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (text(), any::<u64>(), flags).prop_map(|(session, seq, (settled, answered, task_only))| {
        CarriedEntry {
            session_id: SessionId::new(session),
            seq: Seq(seq),
            settled,
            answered,
            unanswered: answered && task_only,
            closed_by: (answered && !settled).then_some(Party::Human),
            past_answer: answered != settled,
            foreign: task_only != settled,
            task_only,
            in_turn: (settled && answered).then(|| TurnId::new("turn-1")),
            rung: (settled && answered).then_some(DeliveryWay::Queue),
            answered_in_turn: settled && answered,
            will_be_sent_again: settled && task_only,
            cut_off_in: Vec::from_iter(task_only.then(|| TurnId::new("turn-2"))),
            past_for: settled.then_some(Agent::Claude).into_iter().collect(),
            codex_pair: settled.then(|| RuntimeSession::new("two".to_owned())),
            held: answered.then(|| {
                Box::new(TurnFiles {
                    written: vec!["a.rs".to_owned()],
                    ..TurnFiles::default()
                })
            }),
        }
    })
}

/// Any entry, not appended yet.
pub fn entry() -> impl Strategy<Value = Entry> {
    let session = prop::option::of(prop_oneof!["default|pair-2", text()]);
    (
        id(),
        any::<i64>(),
        party(),
        prop::option::of(party()),
        text(),
        kind(),
        (session, prop::option::of(carried())),
        (
            object(),
            prop::option::of(whole()),
            prop::option::of(task_id()),
            prop::option::of(finding_id()),
        ),
    )
        .prop_map(
            |(
                id,
                timestamp_ms,
                source,
                target,
                content,
                kind,
                (runtime_session, carried),
                (mut meta, whole, task, claimed),
            )| {
                if let Some(finding) = claimed {
                    meta.insert(FINDING.to_owned(), finding.as_str().into());
                }
                if let Some(task) = task {
                    meta.insert(TASK.to_owned(), task.as_str().into());
                }
                Entry {
                    id,
                    timestamp_ms,
                    session_id: SessionId::new("session_1795000000000_a1b2c3d4"),
                    source,
                    target,
                    content,
                    whole,
                    kind,
                    runtime_session: runtime_session.map(RuntimeSession::new),
                    carried,
                    meta,
                    seq: Seq(0),
                }
            },
        )
}
