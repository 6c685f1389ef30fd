use ctxrelay_ui::model as ui;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::WorkIndex;
use crate::core::entry::Entry;
use crate::core::fold::fold;
use crate::core::id::EntryId;
use crate::core::snapshot::{STALE_AFTER_MS, Snapshot};
use crate::deck::deck_about::DeckAbout;
use crate::deck::followed::model::{self, DaemonLink, Model};
use crate::wire::window::WindowPage;

const MINUTE_MS: i64 = 60_000;

fn index_of(world: &Snapshot, now_ms: i64) -> WorkIndex {
    let mut index = WorkIndex::default();
    index.begin_again(world, now_ms);
    index
}

/// Something that is recorded; the numbers choose among what was handed over before.
#[derive(Debug, Clone, Copy)]
enum Step {
    Handoff {
        to_codex: bool,
    },
    Answer {
        of: usize,
        closes: bool,
    },
    AsksBack {
        of: usize,
    },
    Blocker {
        of: usize,
    },
    Note {
        of: usize,
    },
    Delivery {
        of: usize,
        result: usize,
        turn: usize,
    },
    Turn {
        turn: usize,
        status: usize,
    },
    Propose {
        of: usize,
    },
    Decide {
        proposal: usize,
        approves: bool,
    },
    DaemonStarted,
    Adopted,
}

fn step() -> impl Strategy<Value = Step> {
    let at = || 0usize..200;
    prop_oneof![
        6 => any::<bool>().prop_map(|to_codex| Step::Handoff { to_codex }),
        2 => (at(), any::<bool>()).prop_map(|(of, closes)| Step::Answer { of, closes }),
        1 => at().prop_map(|of| Step::AsksBack { of }),
        1 => at().prop_map(|of| Step::Blocker { of }),
        1 => at().prop_map(|of| Step::Note { of }),
        6 => (at(), 0usize..7, 0usize..5)
            .prop_map(|(of, result, turn)| Step::Delivery { of, result, turn }),
        2 => (0usize..5, 0usize..4).prop_map(|(turn, status)| Step::Turn { turn, status }),
        1 => at().prop_map(|of| Step::Propose { of }),
        1 => (at(), any::<bool>())
            .prop_map(|(proposal, approves)| Step::Decide { proposal, approves }),
        1 => Just(Step::DaemonStarted),
        1 => Just(Step::Adopted),
    ]
}

/// What was recorded so far.
#[derive(Default)]
struct Record {
    seq: u64,
    handoffs: Vec<String>,
    proposals: Vec<(String, String)>,
}

impl Record {
    fn handoff(&self, at: usize) -> String {
        let count = self.handoffs.len().max(1);
        self.handoffs.get(at % count).cloned().unwrap_or_default()
    }

    fn entry(&mut self, step: Step) -> Entry {
        self.seq += 1;
        let id = format!("e{}", self.seq);
        let mut value = json!({"schema": "v1", "id": id, "seq": self.seq,
            "timestamp": self.seq as i64 * MINUTE_MS, "sessionId": "s", "source": "claude",
            "target": "codex", "content": format!("text {}", self.seq)});
        let mut set = |members: Value| {
            for (name, member) in members.as_object().unwrap() {
                value[name] = member.clone();
            }
        };
        let statuses = ["inProgress", "completed", "interrupted", "failed"];
        let results = [
            "confirmed",
            "acknowledged",
            "rejected",
            "expired",
            "ambiguous",
            "cancelled",
            "requeued",
        ];
        match step {
            Step::Handoff { to_codex } => {
                let to = if to_codex { "codex" } else { "claude" };
                set(json!({"type": "handoff", "target": to,
                    "handoff": {"ask": "look", "reason": "why"}}));
                self.handoffs.push(id);
            }
            Step::Answer { of, closes } => {
                let of = self.handoff(of);
                let handles = if closes { json!([of]) } else { json!([]) };
                set(
                    json!({"type": "message", "source": "codex", "target": "claude",
                    "message": {"inReplyTo": of}, "handles_handoff_ids": handles}),
                );
            }
            Step::AsksBack { of } => {
                let of = self.handoff(of);
                set(
                    json!({"type": "message", "source": "codex", "target": "claude",
                    "message": {"inReplyTo": of, "requireReply": true}}),
                );
            }
            Step::Blocker { of } => {
                let of = self.handoff(of);
                set(json!({"type": "note", "noteKind": "blocker", "handles_handoff_ids": [of]}));
            }
            Step::Note { of } => {
                let of = self.handoff(of);
                set(json!({"type": "note", "noteKind": "note", "handles_handoff_ids": [of]}));
            }
            Step::Delivery { of, result, turn } => {
                let of = self.handoff(of);
                set(
                    json!({"type": "runtime_event", "source": "system", "runtimeEvent":
                    {"kind": "message_delivery", "status": results[result], "messageId": of,
                     "to": "codex", "turnId": format!("t{turn}")}}),
                );
            }
            Step::Turn { turn, status } => {
                set(
                    json!({"type": "runtime_event", "source": "codex", "runtimeEvent":
                    {"kind": "turn", "status": statuses[status], "threadId": "th",
                     "turnId": format!("t{turn}"), "startedBy": "human"}}),
                );
            }
            Step::Propose { of } => {
                let of = self.handoff(of);
                set(
                    json!({"type": "finality_proposal", "handles_handoff_ids": [of],
                    "finality": {"summary": "done", "evidence": []}}),
                );
                self.proposals.push((id, of));
            }
            Step::Decide { proposal, approves } => {
                let count = self.proposals.len().max(1);
                let (id, of) = self
                    .proposals
                    .get(proposal % count)
                    .cloned()
                    .unwrap_or_default();
                let handles = if approves { json!([of]) } else { json!([]) };
                set(json!({"type": "finality_decision", "source": "human",
                    "handles_handoff_ids": handles,
                    "finality": {"proposalId": id, "approved": approves}}));
            }
            Step::DaemonStarted => set(json!({"type": "runtime_event", "source": "system",
                "runtimeEvent": {"kind": "lifecycle", "status": "ok",
                    "event": "daemon_started"}})),
            Step::Adopted => set(json!({"type": "runtime_event", "source": "system",
                "runtimeEvent": {"kind": "lifecycle", "status": "ok",
                    "event": "contextrelay_3_adopted"}})),
        }
        model::entry(value, None).unwrap()
    }
}

type Rows = Vec<ui::HandoffRow>;

fn shown(index: &WorkIndex, world: &Snapshot) -> (Rows, [Rows; 5]) {
    let rows = |rows: &ui::HandoffRows| rows.iter().map(|row| (**row).clone()).collect::<Vec<_>>();
    (
        rows(index.open()),
        index.tasks(world).columns.each_ref().map(rows),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn entry_by_entry_it_is_what_the_whole_world_gives(
        steps in prop::collection::vec((step(), 0i64..30), 1..220),
    ) {
        let mut record = Record::default();
        let mut world = Snapshot::default();
        let mut index = WorkIndex::default();
        let mut now_ms = 0;
        for (step, minutes) in steps {
            let entry = record.entry(step);
            let touched = WorkIndex::touched(&world, &entry);
            fold(&mut world, &entry);
            index.take(&world, touched);
            now_ms = now_ms.max(entry.timestamp_ms) + minutes * MINUTE_MS;
            index.advance(&world, now_ms);
            let whole = index_of(&world, now_ms);
            prop_assert_eq!(shown(&index, &world), shown(&whole, &world));
            let counts = world.columns(now_ms);
            for (lane, column) in [
                ui::TaskColumn::Open,
                ui::TaskColumn::Active,
                ui::TaskColumn::Blocked,
                ui::TaskColumn::Stale,
                ui::TaskColumn::Done,
            ].into_iter().enumerate() {
                prop_assert_eq!(index.tasks(&world).count(column), counts[lane]);
            }
            prop_assert_eq!(index.due.len(), index.open.iter().filter(|row| super::due_ms(row) > now_ms).count());
        }
    }
}

#[test]
fn time_alone_makes_a_handoff_stale_and_says_when() {
    let mut record = Record::default();
    let mut world = Snapshot::default();
    fold(&mut world, &record.entry(Step::Handoff { to_codex: true }));
    let mut index = index_of(&world, MINUTE_MS);
    let due_ms = index.next_due_ms().unwrap();
    assert_eq!(due_ms, MINUTE_MS + STALE_AFTER_MS + 1);
    let column = |index: &WorkIndex| index.open().get(0).unwrap().column;
    index.advance(&world, due_ms - 1);
    assert_eq!(column(&index), ui::TaskColumn::Open);
    index.advance(&world, due_ms);
    assert_eq!(column(&index), ui::TaskColumn::Stale);
    assert_eq!(index.next_due_ms(), None);
    index.advance(&world, MINUTE_MS);
    assert_eq!(
        column(&index),
        ui::TaskColumn::Open,
        "the clock was put back"
    );
}

#[test]
fn a_row_of_a_task_that_is_handed_over_says_which_task() {
    let mut world = Snapshot::default();
    let texts = [
        ("human", "# Task: Fix the login\nState: fresh."),
        (
            "human",
            "Task cap_3f9a61c07b2e: Fix the logout\nState: fresh.",
        ),
        ("human", "look at it"),
        ("claude", "# Task: look\nat it"),
    ];
    for (at, (from, text)) in texts.into_iter().enumerate() {
        let value = json!({"schema": "v1", "id": format!("e{at}"), "seq": at + 1, "timestamp": 0,
            "sessionId": "s", "type": "handoff", "source": from, "target": "codex",
            "content": text, "handoff": {"ask": text, "reason": "why"}});
        fold(&mut world, &model::entry(value, None).unwrap());
    }
    let (open, _) = shown(&index_of(&world, 0), &world);
    // The newest stands first.
    let asks: Vec<&str> = open.iter().rev().map(|row| &*row.ask).collect();
    let expected = ["Fix the login", "Fix the logout", "look at it", texts[3].1];
    assert_eq!(asks, expected);
}

#[test]
fn what_stops_a_handoff_is_said_step_by_step() {
    let mut record = Record::default();
    let mut world = Snapshot::default();
    let steps = [
        (Step::Handoff { to_codex: true }, ui::HandoffStage::Unproven),
        (
            Step::Delivery {
                of: 0,
                result: 4,
                turn: 0,
            },
            ui::HandoffStage::Ambiguous,
        ),
        (
            Step::Delivery {
                of: 0,
                result: 6,
                turn: 0,
            },
            ui::HandoffStage::Unproven,
        ),
        (
            Step::Delivery {
                of: 0,
                result: 0,
                turn: 1,
            },
            ui::HandoffStage::InTurn,
        ),
        (Step::AsksBack { of: 0 }, ui::HandoffStage::InTurn),
        (
            Step::Answer {
                of: 0,
                closes: false,
            },
            ui::HandoffStage::Answered,
        ),
        (Step::Turn { turn: 1, status: 2 }, ui::HandoffStage::CutOff),
        (Step::AsksBack { of: 0 }, ui::HandoffStage::CutOff),
        (
            Step::Answer {
                of: 0,
                closes: false,
            },
            ui::HandoffStage::Answered,
        ),
        (Step::Blocker { of: 0 }, ui::HandoffStage::Blocked),
        (
            Step::Answer {
                of: 0,
                closes: true,
            },
            ui::HandoffStage::Closed,
        ),
    ];
    for (step, stage) in steps {
        fold(&mut world, &record.entry(step));
        let index = index_of(&world, 0);
        let tasks = index.tasks(&world);
        let row = tasks.columns.iter().find_map(|rows| rows.get(0)).unwrap();
        assert_eq!(row.stage, stage, "{step:?}");
        assert_eq!(index.open().is_empty(), stage == ui::HandoffStage::Closed);
    }
}

#[test]
fn what_was_taken_back_never_arrived_unless_nobody_can_know() {
    let ambiguous = Step::Delivery {
        of: 0,
        result: 4,
        turn: 0,
    };
    let cancelled = Step::Delivery {
        of: 0,
        result: 5,
        turn: 0,
    };
    for (steps, stage, is_work) in [
        (&[cancelled][..], ui::HandoffStage::Undelivered, false),
        (&[ambiguous, cancelled], ui::HandoffStage::Ambiguous, true),
    ] {
        let mut record = Record::default();
        let mut world = Snapshot::default();
        fold(&mut world, &record.entry(Step::Handoff { to_codex: true }));
        for step in steps {
            fold(&mut world, &record.entry(*step));
        }
        let index = index_of(&world, 0);
        assert_eq!(index.open().get(0).unwrap().stage, stage, "{steps:?}");
        let columns = index.tasks(&world).columns;
        let has_row = columns.iter().any(|rows| rows.get(0).is_some());
        assert_eq!(has_row, is_work, "{steps:?}");
    }
}

#[test]
fn a_handoff_that_its_sender_closed_says_so() {
    let closes = Step::Answer {
        of: 0,
        closes: true,
    };
    for (step, stage) in [
        // By Claude, whose handoff it is.
        (Step::Note { of: 0 }, ui::HandoffStage::ClosedBySender),
        (closes, ui::HandoffStage::Closed),
    ] {
        let mut record = Record::default();
        let mut world = Snapshot::default();
        for step in [Step::Handoff { to_codex: true }, step] {
            fold(&mut world, &record.entry(step));
        }
        let tasks = index_of(&world, 0).tasks(&world);
        let row = tasks.columns.iter().find_map(|rows| rows.get(0)).unwrap();
        assert_eq!(row.stage, stage, "{step:?}");
    }
}

#[test]
fn what_a_turn_of_claudes_left_is_cut_off_as_long_as_the_status_names_it() {
    let mut deck = Model::new(DaemonLink::Hosting, DeckAbout::default());
    let append = |deck: &mut Model, seq: u64, more: Value| {
        let mut line = json!({"schema": "v1", "id": format!("e{seq}"), "seq": seq, "timestamp": 0,
            "sessionId": "s", "content": ""});
        let more = more.as_object().unwrap().clone();
        line.as_object_mut().unwrap().extend(more);
        assert!(deck.append(&model::entry(line, None).unwrap()));
    };
    let delivery = |status: &str| {
        json!({"type": "runtime_event", "source": "system", "runtimeEvent":
            {"kind": "message_delivery", "status": status, "messageId": "e1", "to": "claude"}})
    };
    let name = |deck: &mut Model, ids: &[&str]| {
        let mut status = deck.status.clone();
        status.agents.claude.cut_off_ids = ids.iter().map(|id| EntryId::new(*id)).collect();
        deck.take_status(status);
    };
    let check = |deck: &Model, stage: ui::HandoffStage| {
        let (open, columns) = shown(&deck.work, &deck.world);
        for rows in [&open, &columns[ui::TaskColumn::Active.index()]] {
            let stages: Vec<_> = rows.iter().map(|row| row.stage).collect();
            assert_eq!(stages, [stage]);
        }
    };
    let handoff = json!({"type": "handoff", "source": "codex", "target": "claude",
        "handoff": {"ask": "look", "reason": "why"}});
    append(&mut deck, 1, handoff);
    append(&mut deck, 2, delivery("confirmed"));
    check(&deck, ui::HandoffStage::Delivered);
    name(&mut deck, &["e1"]);
    check(&deck, ui::HandoffStage::CutOff);
    let world = deck.world.clone();
    deck.reset(world, WindowPage::default(), 0);
    check(&deck, ui::HandoffStage::CutOff);
    name(&mut deck, &[]);
    check(&deck, ui::HandoffStage::Delivered);
    // Sent again, and then settled: each before the next status says so.
    name(&mut deck, &["e1"]);
    append(&mut deck, 3, delivery("requeued"));
    check(&deck, ui::HandoffStage::Delivered);
    append(&mut deck, 4, delivery("confirmed"));
    check(&deck, ui::HandoffStage::CutOff);
    append(&mut deck, 5, delivery("acknowledged"));
    check(&deck, ui::HandoffStage::Delivered);
}
