//! The parts from which the worlds of the scenes are built: one team at work, piece by piece.

use std::sync::Arc;

use crate::model::{
    Agent, Chain, ChangedChecksRow, DaemonState, DeckView, EntryPlace, EntryRef, Field, FoldedRows,
    GateRow, GateState, HandoffRow, HandoffRows, HandoffStage, HeaderDaemon, HeaderLedger,
    HeaderPorts, InboxCard, InboxKind, NamedEntry, OutcomeState, Party, RowOutcome, RowSort,
    TaskColumn, Tasks, ThreadView, TimelineRow, Verdict,
};
use crate::msg::Msg;

/// 22 November 2026, 14:02:32 UTC.
pub const NOW_MS: i64 = 1_795_305_600_000 + ((14 * 60 + 2) * 60 + 32) * 1_000;

/// The session of every scene.
const SESSION: &str = "019ab3c4-7d1e-7c52-9b1f-0e6a319f31c2";

pub(super) fn ago(seconds: i64) -> i64 {
    NOW_MS - seconds * 1_000
}

pub(super) fn base() -> DeckView {
    DeckView {
        now_ms: NOW_MS,
        project: "acme-api".to_owned(),
        runtime_session: "default".to_owned(),
        session_id: SESSION.to_owned(),
        ports: HeaderPorts {
            control: Some(4502),
            proxy: Some(4501),
            codex: Some(4500),
        },
        daemon: HeaderDaemon {
            state: DaemonState::Hosting,
            message: None,
        },
        ledger: HeaderLedger {
            entries: 1_204,
            chain: Chain::Ok,
            bad_lines: 0,
        },
        ..DeckView::default()
    }
}

pub(super) fn row(
    seq: u64,
    seconds: i64,
    from: impl Into<Party>,
    to: Option<Agent>,
    kind: &str,
    text: &str,
) -> TimelineRow {
    TimelineRow {
        id: format!("m-{seq:04x}"),
        sort: match kind {
            "handoff" => RowSort::Handoff,
            "error" => RowSort::Error,
            _ => RowSort::Other,
        },
        ..TimelineRow::new(seq, ago(seconds), from, to.map(Party::Agent), kind, text)
    }
}

pub(super) fn with(
    mut row: TimelineRow,
    state: OutcomeState,
    text: &str,
    took_ms: Option<u64>,
    since_s: Option<i64>,
) -> TimelineRow {
    row.outcome = Some(RowOutcome {
        state,
        text: text.to_owned(),
        since_ms: since_s.map(ago),
        took_ms,
    });
    row
}

fn note(seq: u64, seconds: i64, kind: &str, text: &str) -> TimelineRow {
    let mut note = row(seq, seconds, Agent::Claude, None, "note", text);
    note.mark = Some(kind.to_owned());
    note
}

/// As the deck makes them of entries; its own tests hold them to that.
pub(super) fn work() -> Vec<TimelineRow> {
    let handoff = with(
        row(
            1_201,
            41,
            Agent::Claude,
            Some(Agent::Codex),
            "handoff",
            "Review src/auth/refresh.rs for races and token lifetime.\n\nLook at these in order:\n  1. two refreshes at once: is there one \
             request or two?\n  2. what is kept of the old token after rotation\n  3. clock skew of up to 90 s\n\nSay what you ran, and what \
             you only read.",
        ),
        OutcomeState::Done,
        "started a turn",
        Some(3),
        None,
    );
    let mut artifact = row(
        1_199,
        140,
        Agent::Codex,
        None,
        "artifact",
        "test report · 2 of 118\nrefresh_is_single_flight and rotation_forgets_the_old_token",
    );
    artifact.verdict = Some(Verdict::Failed);
    artifact.mark = Some("claimed".to_owned());
    let mut rows = vec![
        with(
            row(
                1_190,
                1_520,
                Party::Human,
                Some(Agent::Claude),
                "message",
                "Make the token refresh safe under load, then have Codex review it.",
            ),
            OutcomeState::Done,
            "acknowledged by Claude",
            Some(640),
            None,
        ),
        note(
            1_191,
            1_490,
            "goal",
            "one refresh request however many callers wait",
        ),
        note(
            1_192,
            1_300,
            "plan",
            "single-flight lock around refresh, keep callers in a list, rotate under it",
        ),
        with(
            row(
                1_193,
                900,
                Agent::Claude,
                Some(Agent::Codex),
                "handoff",
                "Add the tests for rotation and for two refreshes at once",
            ),
            OutcomeState::Done,
            "joined its running turn",
            Some(4),
            None,
        ),
        TimelineRow::of_folded(
            1_194,
            ago(900),
            FoldedRows {
                last: 1_195,
                count: 2,
            },
            "1 on a message's way · 1 on a turn",
        ),
        with(
            row(
                1_196,
                610,
                Agent::Codex,
                Some(Agent::Claude),
                "message",
                "Tests are in. Two of them fail on the current code, as they should: refresh is not single-flight yet.",
            ),
            OutcomeState::Done,
            "Claude has it by pull, not acknowledged",
            Some(1_900),
            None,
        ),
        with(
            row(
                1_198,
                154,
                Agent::Codex,
                None,
                "finality",
                "token refresh is done: single-flight, old token dropped, 118 tests pass",
            ),
            OutcomeState::Attention,
            "waits for you",
            None,
            None,
        ),
        artifact,
        note(1_200, 45, "decision", "add the single-flight lock"),
        handoff,
        with(
            row(
                1_204,
                2,
                Agent::Codex,
                Some(Agent::Claude),
                "message",
                "Two issues: refresh is not single-flight, and the old token stays in memory after rotation. The first is a race that I could \
                 reproduce in 3 of 200 runs; the second needs a zeroizing type. Shall I fix both?",
            ),
            OutcomeState::Unconfirmed,
            "no proof yet that Claude has it",
            None,
            Some(2),
        ),
    ];
    let threads = [
        (1_193, "h1193"),
        (1_196, "h1193"),
        (1_198, "h1193"),
        (1_201, "h1201"),
        (1_204, "h1201"),
    ];
    for row in &mut rows {
        let mut known = threads.iter();
        let name = known.find_map(|(seq, name)| (*seq == row.seq).then_some(*name));
        row.thread = name.map(str::to_owned);
    }
    rows
}

pub(super) fn finality() -> InboxCard {
    InboxCard {
        seq: Some(1_198),
        evidence: vec![
            "118 tests pass; the race is covered by refresh_is_single_flight".into(),
            "200 runs under the thread sanitizer without a report".into(),
        ],
        remaining_risk: "Clock skew above 90 s is not handled; the old code did not either."
            .to_owned(),
        handles: vec![NamedEntry {
            text: "h1193 Add the tests for rotation and for two refreshes at once".to_owned(),
            line: Some(1_193),
        }],
        commit: Some("4c1d2e0b7f".to_owned()),
        changed_files: 3,
        tree: Some("71ab4c0de09f".to_owned()),
        tree_still_same: Some(true),
        ..InboxCard::new(
            InboxKind::Finality,
            "p-1198",
            Agent::Codex,
            ago(154),
            "Token refresh is done: one request however many callers wait, and the old token is dropped on rotation.",
        )
    }
}

pub(super) fn gates() -> Vec<GateRow> {
    let gate = |name: &str, command: &str, state, result: &str| GateRow {
        name: name.to_owned(),
        command: command.to_owned(),
        isolated: false,
        state,
        result: result.to_owned(),
        output: Vec::new(),
    };
    vec![
        gate(
            "tests",
            "cargo test --workspace",
            GateState::Passed,
            "12.4 s  exit 0",
        ),
        gate("lint", "cargo clippy", GateState::Passed, "3.1 s  exit 0"),
        gate("e2e", "not required", GateState::Skipped, "not run"),
    ]
}

pub(super) fn changed_checks() -> ChangedChecksRow {
    ChangedChecksRow {
        named: vec!["Cargo.toml".to_owned(), "tests/refresh.rs".to_owned()],
        ..ChangedChecksRow::default()
    }
}

/// Every handoff of the team, open or not.
fn all_handoffs() -> Vec<HandoffRow> {
    let handoff =
        |column, stage, id: &str, seq, from: Agent, to: Agent, ask: &str, seconds| HandoffRow {
            column,
            stage,
            id_short: id.to_owned(),
            seq,
            from: from.into(),
            to: to.into(),
            ask: ask.into(),
            since_ms: ago(seconds),
        };
    let (claude, codex) = (Agent::Claude, Agent::Codex);
    vec![
        handoff(
            TaskColumn::Active,
            HandoffStage::InTurn,
            "h1201",
            1_201,
            claude,
            codex,
            "review src/auth/refresh.rs for races",
            41,
        ),
        handoff(
            TaskColumn::Active,
            HandoffStage::Answered,
            "h1193",
            1_193,
            claude,
            codex,
            "Add the tests for rotation and for two refreshes at once",
            610,
        ),
        handoff(
            TaskColumn::Open,
            HandoffStage::Unproven,
            "h1189",
            1_189,
            codex,
            claude,
            "choose the lock: std or parking_lot",
            190,
        ),
        handoff(
            TaskColumn::Done,
            HandoffStage::Closed,
            "h1150",
            1_150,
            claude,
            codex,
            "add the tests for rotation",
            620,
        ),
        handoff(
            TaskColumn::Done,
            HandoffStage::Closed,
            "h1100",
            1_100,
            codex,
            claude,
            "explain the session table",
            2_400,
        ),
    ]
}

pub(super) fn tasks() -> Tasks {
    let mut tasks = Tasks {
        done: 4,
        ..Tasks::default()
    };
    for row in all_handoffs() {
        tasks.columns[row.column.index()].insert(Arc::new(row));
    }
    tasks
}

/// Who owes an answer.
pub(super) fn handoffs() -> HandoffRows {
    let all = all_handoffs().into_iter();
    all.filter(|row| row.column != TaskColumn::Done).collect()
}

/// A team that let go of much and waits for some of it.
pub(super) fn much_work() -> (Tasks, HandoffRows) {
    let mut tasks = tasks();
    let mut open = handoffs();
    let asks = [
        "socket latency: token bucket or leaky bucket?",
        "timeout branch back to the caller, with its cause",
        "add the e2e tests for two refreshes at once",
        "why does the table of sessions grow over night?",
        "measure the lock under 64 callers, and write down how",
    ];
    let columns = [
        (TaskColumn::Stale, HandoffStage::Delivered, 40),
        (TaskColumn::Open, HandoffStage::Unproven, 12),
        (TaskColumn::Blocked, HandoffStage::Blocked, 2),
        (TaskColumn::Active, HandoffStage::CutOff, 1),
        (TaskColumn::Active, HandoffStage::Answered, 1),
    ];
    let mut seq = 700;
    for (column, stage, count) in columns {
        for n in 0..count {
            seq += 7;
            let (from, to) = match n % 3 {
                0 => (Party::Human, Agent::Codex),
                1 => (Agent::Claude.into(), Agent::Codex),
                _ => (Agent::Codex.into(), Agent::Claude),
            };
            let row = Arc::new(HandoffRow {
                column,
                stage,
                id_short: format!("h{seq}"),
                seq,
                from,
                to: to.into(),
                ask: asks[n % asks.len()].into(),
                since_ms: ago(if column == TaskColumn::Stale {
                    180_000
                } else {
                    1_900
                } - n as i64 * 60),
            });
            tasks.columns[column.index()].insert(Arc::clone(&row));
            open.insert(row);
        }
    }
    (tasks, open)
}

/// What the record has of the handoff in [`work`], in full.
pub(super) fn opened_handoff() -> Msg {
    let mut rows = work().into_iter();
    let row = rows
        .find(|row| row.seq == 1_201)
        .unwrap_or_else(|| TimelineRow::new(1_201, NOW_MS, Agent::Claude, None, "handoff", ""));
    let text = row.text.clone();
    Msg::EntryText {
        place: EntryPlace {
            session: SESSION.to_owned(),
            line: 1_201,
        },
        row: Box::new(row),
        raw: "{\n  \"type\": \"handoff\",\n  \"seq\": 1201\n}".to_owned(),
        detail: details(&text),
        refs: Vec::new(),
        text,
    }
}

/// The same, which names two entries before it.
pub(super) fn opened_with_names() -> Msg {
    let mut opened = opened_handoff();
    if let Msg::EntryText { refs, .. } = &mut opened {
        let rows = work().into_iter();
        let named = rows.filter(|row| [1_193, 1_196].contains(&row.seq));
        refs.extend(named.map(|row| EntryRef {
            label: "handles".to_owned(),
            row,
        }));
    }
    opened
}

/// The thread of the handoff in [`work`].
pub(super) fn thread() -> Msg {
    let mut rows: Vec<TimelineRow> = work()
        .into_iter()
        .filter(|row| [1_193, 1_196, 1_198, 1_199].contains(&row.seq))
        .collect();
    if let Some(row) = rows.iter_mut().find(|row| row.seq == 1_199) {
        row.mark = Some("made meanwhile".to_owned());
    }
    Msg::Thread(Box::new(ThreadView {
        asked: EntryPlace {
            session: SESSION.to_owned(),
            line: 1_198,
        },
        name: "h1193".to_owned(),
        rows,
        is_cut: false,
        fault: None,
    }))
}

/// What it shows beside its text; as [`work`].
fn details(text: &str) -> Vec<Field> {
    let why = "I changed the refresh path and want a second pair of eyes before I call it done.";
    let see = "src/auth/refresh.rs, entry 1 188";
    let given = format!(
        "[ctxrelay handoff m-04b1 from peer Claude, not from your operator; just now]\n\
         Reason: {why}\nSee: {see}\n{text}\n[end of m-04b1]"
    );
    let fields = [
        ("reason", why),
        ("see", see),
        ("on busy", "queue"),
        ("delivery", "confirmed by queue"),
        ("given as", &given),
        ("pair", "default"),
        ("entry", "1 201 · m-04b1"),
    ];
    let fields = fields.into_iter().map(|(name, text)| Field {
        name: name.to_owned(),
        text: text.to_owned(),
    });
    fields.collect()
}
