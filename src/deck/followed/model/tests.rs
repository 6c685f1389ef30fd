use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ctxrelay_ui::model as ui;
use ctxrelay_ui::{Deck, Effect, Msg, QuitChoice, Settings, update};
use serde_json::{Value, json};

use super::{DaemonLink, Model};
use crate::core::agent::{Agent, AgentState};
use crate::core::entry::EntryKind;
use crate::core::fold::fold;
use crate::core::id::Seq;
use crate::core::snapshot::Snapshot;
use crate::deck::deck_about::DeckAbout;
use crate::deck::present::present;
use crate::wire::control::EntryPage;
use crate::wire::status::{GateRunning, Status};
use crate::wire::window::{DeliveryStep, MachineRun, WindowPage, WindowPlace, WindowRow};

fn model() -> Model {
    Model::new(DaemonLink::Attached, DeckAbout::default())
}

fn message(line: u64) -> Value {
    json!({"schema": "v1", "id": format!("e{line}"), "timestamp": 1_000 * line,
        "sessionId": "s", "type": "message", "source": "claude", "target": "codex",
        "content": format!("text {line}")})
}

/// What became of message `e1`.
fn step(line: u64) -> Value {
    json!({"schema": "v1", "id": format!("d{line}"), "timestamp": 1_000 * line, "sessionId": "s",
        "type": "runtime_event", "source": "system", "content": "", "runtimeEvent":
        {"kind": "message_delivery", "status": "confirmed", "messageId": "e1", "to": "codex"}})
}

fn lifecycle(line: u64) -> Value {
    json!({"schema": "v1", "id": format!("l{line}"), "timestamp": 1_000 * line, "sessionId": "s",
        "type": "runtime_event", "source": "system", "content": "daemon started", "runtimeEvent":
        {"kind": "lifecycle", "status": "daemon_started", "event": "daemon_started"}})
}

fn entry(value: Value, line: u64) -> crate::core::entry::Entry {
    super::entry(value, Some(line)).unwrap()
}

fn row(line: u64) -> WindowRow {
    WindowRow::of(entry(message(line), line))
}

fn page(rows: Vec<WindowRow>, head: u64) -> WindowPage {
    WindowPage {
        rows,
        head,
        at: Some(head),
        ..WindowPage::default()
    }
}

fn world_at(line: u64) -> Snapshot {
    Snapshot {
        seq: Seq(line),
        ..Snapshot::default()
    }
}

/// A model that has read these rows.
fn read(rows: Vec<WindowRow>, head: u64) -> Model {
    let mut model = model();
    model.reset(world_at(head), page(rows, head), 0);
    model
}

/// Rows as their first line and what they say.
fn told(model: &Model) -> Vec<(u64, String)> {
    let rows = present(model, 0).timeline.into_iter();
    rows.map(|row| (row.seq, row.text)).collect()
}

fn lines(model: &Model) -> Vec<u64> {
    told(model).into_iter().map(|(line, _)| line).collect()
}

#[test]
fn what_the_operator_wrote_is_followed_wherever_the_reader_is() {
    let mut model = read((1..=3).map(row).collect(), 3);
    let mut mine = message(4);
    mine["source"] = json!("human");
    assert!(model.append(&entry(mine, 4)));
    let told = |model: &Model| {
        let sent = present(model, 9_000).sent.into_iter();
        let told = sent.map(|sent| (sent.line, sent.outcome.state, sent.outcome.text));
        told.collect::<Vec<_>>()
    };
    let (unconfirmed, done) = (ui::OutcomeState::Unconfirmed, ui::OutcomeState::Done);
    let waits = "no proof yet that Codex has it".to_owned();
    assert_eq!(told(&model), [(4, unconfirmed, waits)]);
    // The reader goes far back, and many steps of other messages come.
    model.take_rows(WindowPlace::Line(1), page(vec![row(1)], 4));
    assert!(!lines(&model).contains(&4), "{:?}", lines(&model));
    let mut proof = step(5);
    proof["runtimeEvent"]["messageId"] = json!("e4");
    assert!(model.append(&entry(proof, 5)));
    assert_eq!(told(&model)[0].1, done, "{:?}", told(&model));
}

fn wish(go: ui::TimelineGo) -> ui::TimelineWish {
    ui::TimelineWish {
        number: 1,
        go,
        chips: ui::Chips::default(),
        unfolded: Vec::new(),
    }
}

#[test]
fn entries_without_a_number_of_their_own_are_told_apart_by_their_line() {
    let places = vec![5, 4, 2, 1];
    let unnumbered = EntryPage {
        entries: places.iter().map(|place| message(*place).into()).collect(),
        places,
        ..EntryPage::default()
    };
    let mut world = Snapshot::default();
    for mut entry in super::entries(unnumbered).into_iter().rev() {
        entry.seq = Seq(entry.seq.0.max(1));
        fold(&mut world, &entry);
    }
    let mut model = model();
    let bad = WindowRow::Bad {
        first: 3,
        last: 3,
        at_ms: 0,
    };
    let rows = vec![row(1), row(2), bad, row(4), row(5)];
    model.reset(world, page(rows, 5), 0);
    let rows = [
        (1, "text 1"),
        (2, "text 2"),
        (3, "line 3 could not be read"),
        (4, "text 4"),
        (5, "text 5"),
    ];
    assert_eq!(
        told(&model),
        rows.map(|(line, text)| (line, text.to_owned()))
    );
    assert_eq!(
        present(&model, 0).session_id,
        "s",
        "the record that the rows are of"
    );
}

#[test]
fn steps_of_the_machine_fold_while_they_come_and_an_outcome_stands_at_its_message() {
    let mut model = read(vec![row(1)], 1);
    assert!(model.append(&entry(step(2), 2)));
    assert_eq!(lines(&model), [1], "a step alone is no row");
    let outcome = present(&model, 0).timeline[0].outcome.clone();
    assert_eq!(
        outcome.map(|outcome| outcome.state),
        Some(ui::OutcomeState::Done)
    );
    assert!(model.append(&entry(lifecycle(3), 3)));
    assert!(model.append(&entry(step(4), 4)));
    assert_eq!(
        told(&model)[1],
        (2, "daemon started · 2 on messages' way".to_owned())
    );
    assert!(model.append(&entry(message(5), 5)));
    assert!(model.append(&entry(lifecycle(6), 6)));
    let rows = present(&model, 0).timeline;
    let folded: Vec<_> = rows.iter().map(|row| row.folded).collect();
    let run = |last, count| Some(ui::FoldedRows { last, count });
    assert_eq!(folded, [None, run(4, 3), None, run(6, 1)]);
    assert_eq!(rows[1].mark.as_deref(), Some("+3"));
}

#[test]
fn what_is_loaded_stays_bounded_however_far_the_reader_goes() {
    let mut model = read((1_801..=2_000).map(row).collect(), 2_000);
    let mut oldest = 1_801_u64;
    let mut most = 0;
    while oldest > 1 {
        // The first page has to know that there is more.
        let rows = (oldest.saturating_sub(200).max(1)..oldest)
            .map(row)
            .collect();
        let older = WindowPage {
            has_older: oldest > 201,
            ..page(rows, 2_000)
        };
        model.take_rows(WindowPlace::Before(oldest), older);
        oldest = lines(&model)[0];
        most = most.max(lines(&model).len());
    }
    assert!(most <= 600, "{most}");
    let window = present(&model, 0).window;
    assert_eq!((window.has_older, window.has_newer), (false, true));
    let asked = model.timeline.asks(&wish(ui::TimelineGo::Newer), 0);
    let [asked] = &asked[..] else {
        panic!("{asked:?}")
    };
    let WindowPlace::After(last) = asked.place else {
        panic!("{asked:?}")
    };
    assert_eq!(lines(&model).last(), Some(&last));
    // What is appended meanwhile does not come between.
    assert!(model.append(&entry(message(2_001), 2_001)));
    assert_eq!(lines(&model).last(), Some(&last));
    model.take_rows(
        WindowPlace::After(last),
        page((last + 1..=2_001).map(row).collect(), 2_001),
    );
    assert_eq!(lines(&model).last(), Some(&2_001));
    assert!(lines(&model).len() <= 600);
    assert!(model.append(&entry(message(2_002), 2_002)));
    assert_eq!(
        lines(&model).last(),
        Some(&2_002),
        "it reaches the end again"
    );
}

/// A reader who went back once, to the older page, and to the newest row again.
fn been_back() -> Model {
    let newest = WindowPage {
        has_older: true,
        ..page((101..=300).map(row).collect(), 300)
    };
    let mut model = model();
    model.reset(world_at(300), newest, 0);
    let older = page((1..=100).map(row).collect(), 300);
    model.take_rows(WindowPlace::Before(101), older);
    assert_eq!(lines(&model), (1..=300).collect::<Vec<_>>());
    model
}

#[test]
fn rows_that_came_while_nobody_listened_are_not_passed_over() {
    let mut model = been_back();
    // The daemon was away: five entries later all of it is read again.
    let newest = WindowPage {
        has_older: true,
        ..page((106..=305).map(row).collect(), 305)
    };
    model.reset(world_at(305), newest, 0);
    assert!(model.append(&entry(message(306), 306)));
    assert!(present(&model, 0).window.has_newer);
    assert_eq!(lines(&model).last(), Some(&300), "the reader stays");
    let asked = model.timeline.asks(&wish(ui::TimelineGo::Newer), 0);
    assert_eq!(asked[0].place, WindowPlace::After(300));
    let newer = page((301..=306).map(row).collect(), 306);
    model.take_rows(asked[0].place, newer);
    assert_eq!(lines(&model), (1..=306).collect::<Vec<_>>());
    assert!(!present(&model, 0).window.has_newer);
}

#[test]
fn an_entry_before_which_others_were_missed_is_no_row_until_they_are_read() {
    let mut model = been_back();
    assert!(!model.append(&entry(message(305), 305)));
    assert_eq!(lines(&model).last(), Some(&300));
    let newest = page((106..=305).map(row).collect(), 305);
    model.reset(world_at(305), newest, 0);
    assert!(present(&model, 0).window.has_newer);
}

#[test]
fn rows_of_a_record_that_has_become_shorter_are_let_go_of() {
    let mut model = been_back();
    model.reset(world_at(200), page((1..=200).map(row).collect(), 200), 0);
    assert_eq!(lines(&model).last(), Some(&200));
    assert!(!present(&model, 0).window.has_newer);
}

#[test]
fn what_became_of_the_readers_rows_meanwhile_is_read_with_the_newest() {
    let outcome = |model: &Model| {
        let first = present(model, 0).timeline[0].outcome.clone();
        first.map(|outcome| outcome.state)
    };
    let mut model = been_back();
    assert_eq!(outcome(&model), None);
    let again = model.timeline.reads_again(None).unwrap();
    assert_eq!(again.place, WindowPlace::After(0));
    let further = model.timeline.reads_again(Some(200)).unwrap();
    assert_eq!(further.place, WindowPlace::After(200));
    assert!(model.timeline.reads_again(Some(300)).is_none());
    let proof = entry(step(301), 301);
    let EntryKind::Delivery(record) = &proof.kind else {
        panic!("{proof:?}");
    };
    let steps = vec![DeliveryStep {
        record: record.clone(),
        at_ms: 0,
        line: 301,
    }];
    let newest = WindowPage {
        steps,
        ..page((106..=301).map(row).collect(), 301)
    };
    model.reset(world_at(301), newest, 0);
    assert_eq!(lines(&model)[0], 1);
    assert_eq!(outcome(&model), Some(ui::OutcomeState::Done));
}

#[test]
fn only_the_session_that_was_named_is_cleared() {
    let mut model = model();
    model.world.session_id = Some("session_1795000000000_a1b2c3d4".into());
    model.status.session_id = Some("session_1795000009999_99998888".into());
    let named = |name: &str| model.session_named(name).map(ToString::to_string);
    assert_eq!(
        named("a1b2c3d4").as_deref(),
        Some("session_1795000000000_a1b2c3d4")
    );
    assert_eq!(named("99998888"), None);
    assert_eq!(named(""), None);
}

#[test]
fn an_entry_of_a_page_that_is_told_of_afterwards_stands_once() {
    let mut model = model();
    // The page was read after the world, and has an entry that is still to be told of.
    model.reset(world_at(2), page((1..=3).map(row).collect(), 3), 0);
    assert!(model.append(&entry(message(3), 3)));
    assert!(model.append(&entry(message(4), 4)));
    assert_eq!(lines(&model), [1, 2, 3, 4]);
}

#[test]
fn an_entry_that_was_not_told_of_is_read_again() {
    let mut model = read(vec![row(1), row(2)], 2);
    assert!(!model.append(&entry(message(5), 5)));
}

#[test]
fn chips_hold_for_what_comes_later_and_runs_end_at_what_they_hide() {
    let mut model = read(vec![row(1)], 1);
    let mut system = wish(ui::TimelineGo::Newest);
    system.chips.toggle(ui::Chip::System);
    let asked = model.timeline.asks(&system, 0);
    assert_eq!(
        asked.len(),
        1,
        "once, though the newest rows are what is wanted"
    );
    model.take_rows(asked[0].place, page(Vec::new(), 1));
    for line in [2, 3] {
        assert!(model.append(&entry(step(line), line)));
    }
    assert!(model.append(&entry(message(4), 4)));
    assert!(model.append(&entry(step(5), 5)));
    assert_eq!(lines(&model), [2, 5]);
    let last = |row: &ui::TimelineRow| row.folded.map(|folded| folded.last);
    let rows = present(&model, 0).timeline;
    assert_eq!(
        rows.iter().map(last).collect::<Vec<_>>(),
        [Some(3), Some(5)]
    );
}

#[test]
fn a_jump_to_nowhere_leaves_the_rows() {
    let mut model = read((1..=9).map(row).collect(), 9);
    let asked = model
        .timeline
        .asks(&wish(ui::TimelineGo::LandmarkOlder(5)), 0);
    model.take_rows(
        asked[0].place,
        WindowPage {
            head: 9,
            ..WindowPage::default()
        },
    );
    assert_eq!(lines(&model).len(), 9);
    let window = present(&model, 0).window;
    assert_eq!((window.answered, window.line), (1, None));
}

#[test]
fn steps_of_messages_that_are_nowhere_are_let_go_of() {
    let mut model = read(vec![row(1)], 1);
    for line in 2..20_000 {
        let mut value = step(line);
        value["runtimeEvent"]["messageId"] = format!("e{}", line - 1).into();
        assert!(model.append(&entry(value, line)));
    }
    assert!(
        model.deliveries.len() <= 8_192,
        "{}",
        model.deliveries.len()
    );
    assert!(
        model.deliveries.contains_key(&"e1".into()),
        "it is on the screen"
    );
}

#[test]
fn a_run_that_is_read_in_pieces_is_one_row() {
    let run = |first, last, news: u64| WindowRow::Machine {
        run: MachineRun {
            first,
            last,
            at_ms: 0,
            deliveries: last - first + 1 - news,
            steps: 0,
            news,
            news_line: (news > 0).then_some(first),
            findings: 0,
        },
        text: if news > 0 {
            "daemon started".to_owned()
        } else {
            String::new()
        },
    };
    let mut model = read(vec![row(90)], 90);
    let around = WindowPage {
        has_newer: true,
        ..page(vec![row(1), run(2, 5, 0)], 90)
    };
    model.take_rows(WindowPlace::Line(1), around);
    assert_eq!(lines(&model), [1]);
    let newer = WindowPage {
        has_newer: true,
        ..page(vec![run(6, 9, 1), row(10)], 90)
    };
    model.take_rows(WindowPlace::After(5), newer);
    assert_eq!(lines(&model), [1, 2, 10]);
    let folded = present(&model, 0).timeline[1].folded;
    assert_eq!(folded, Some(ui::FoldedRows { last: 9, count: 8 }));
}

#[test]
fn questions_between_the_agents_are_shown_until_they_are_over_and_the_rest_is_counted() {
    let mut model = read(Vec::new(), 0);
    let mut line = 0;
    let mut tell = |model: &mut Model, id: &str, members: Value| {
        line += 1;
        let mut value = json!({"schema": "v1", "id": id, "timestamp": line, "sessionId": "s",
            "content": "which lock?"});
        for (name, member) in members.as_object().unwrap() {
            value[name] = member.clone();
        }
        model.append(&entry(value, line));
    };
    let asks = json!({"type": "message", "source": "codex", "target": "claude",
        "message": {"requireReply": true}});
    let shown = |model: &Model| {
        let view = present(model, 0);
        let lines: Vec<u64> = view.questions.iter().map(|row| row.seq).collect();
        (lines, view.questions_open)
    };
    for id in ["q1", "q2", "q3", "q4"] {
        tell(&mut model, id, asks.clone());
    }
    assert_eq!(shown(&model), (vec![1, 2, 3], 4));
    assert_eq!(present(&model, 0).questions[0].ask, "which lock?");
    let over = json!({"type": "note", "source": "human", "noteKind": "note",
        "handles_handoff_ids": ["q1", "q3"]});
    tell(&mut model, "n", over);
    assert_eq!(shown(&model), (vec![2, 4], 2));
}

#[test]
fn an_agents_minutes_go_on_with_the_clock_and_not_without_a_daemon() {
    let busy = json!({"schema": "v1", "id": "b", "timestamp": 120_000, "sessionId": "s",
        "type": "runtime_event", "source": "system", "content": "", "runtimeEvent":
        {"kind": "agent_state", "status": "busy", "agent": "claude"}});
    let mut model = read(Vec::new(), 0);
    model.append(&entry(busy, 1));
    model.append(&entry(message(180), 2));
    let drawn = |model: &Model, now_ms| {
        let view = present(model, now_ms);
        let minutes = view.agents[0].activity.iter();
        let drawn = minutes.map(|minute| match (minute.worked, minute.entries) {
            (false, 0) => ".",
            (true, 0) => "_",
            (true, _) => "1",
            (false, _) => "!",
        });
        drawn.collect::<String>()
    };
    assert_eq!(drawn(&model, 200_000), ".........._1");
    assert_eq!(drawn(&model, 5 * 60_000), "........_1__");
    model.set_link(DaemonLink::Reconnecting("refused".to_owned()), 5 * 60_000);
    assert_eq!(drawn(&model, 5 * 60_000), "........_1..");

    // A session that follows another one tells of no minute before itself.
    let mut model = read(Vec::new(), 0);
    model.world.follows_since_ms = Some(120_000);
    assert_eq!(drawn(&model, 120_000), ".");
    model.append(&entry(message(180), 1));
    assert_eq!(drawn(&model, 200_000), ".!");
    assert_eq!(drawn(&model, 60 * 60_000), "............");
}

#[test]
fn what_cannot_be_read_is_said_with_its_reason_and_nothing_is_claimed_before_it_was() {
    let mut model = model();
    let opening = |model: &Model| present(model, 0).opening;
    assert_eq!(opening(&model).as_deref(), Some("reading the record …"));
    model.unread = Some("the record cannot be read: its file is shorter".to_owned());
    let view = present(&model, 0);
    let told = "the record cannot be read: its file is shorter; trying again";
    assert_eq!(view.opening.as_deref(), Some(told));
    assert!(view.agents.is_empty() && view.timeline.is_empty() && view.missing.is_empty());
    assert!(view.inbox.is_empty() && !view.first_run);
    // What is done meanwhile is said as well, and a daemon that went is.
    model.set_link(DaemonLink::Reconnecting("it hung up".to_owned()), 0);
    let lost = "looking for the daemon: it hung up";
    assert_eq!(opening(&model).as_deref(), Some(lost));
    model.set_link(DaemonLink::Attached, 0);
    model.reset(world_at(1), page(vec![row(1)], 1), 0);
    assert_eq!(opening(&model), None);
    assert_eq!(lines(&model), [1]);
}

#[test]
fn a_status_that_says_what_the_one_before_said_is_nothing_to_draw() {
    let mut model = model();
    let codex_is_here = || {
        let mut status = Status::default();
        status.agents.codex.tui = true;
        status
    };
    assert!(model.take_status(codex_is_here()));
    model.started.insert(Agent::Codex, 1);
    assert!(!model.take_status(codex_is_here()));
    // It has come, whatever is drawn.
    assert!(model.started.is_empty());
    assert!(model.take_status(Status::default()));
}

#[test]
fn a_codex_that_works_without_a_terminal_is_asked_about_before_the_deck_is_left() {
    let mut model = read(vec![row(1)], 1);
    model.set_link(DaemonLink::Hosting, 0);
    let leave = |model: &Model| {
        let mut deck = Deck::new(Settings::new().unwrap()).unwrap();
        update(&mut deck, Msg::Resize(120, 40));
        update(&mut deck, Msg::View(Box::new(present(model, 0))));
        let q = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
        update(&mut deck, Msg::Key(q))
    };
    let stops = [Effect::Quit(QuitChoice::Stop)];
    assert_eq!(leave(&model), stops);
    model.status.agents.codex.state = AgentState::Busy;
    assert!(!model.status.agents.codex.tui);
    assert_eq!(leave(&model), [], "it asks");
    model.status.agents.codex.state = AgentState::Idle;
    assert_eq!(leave(&model), stops, "nothing of it would be missed");
    model.status.queue.codex.in_flight = 1;
    assert_eq!(leave(&model), [], "it asks");
    model.status.queue.codex.in_flight = 0;
    let name = "tests".to_owned();
    model.status.gates.running = Some(GateRunning {
        name,
        ..GateRunning::default()
    });
    assert_eq!(leave(&model), [], "it asks");
}

#[test]
fn what_the_pair_needs_stands_over_the_timeline_until_an_agent_has_worked_whatever_was_read() {
    let first_run = |model: &Model| present(model, 0).first_run;
    // The daemon alone has written.
    let started = |line| WindowRow::of(entry(lifecycle(line), line));
    let mut model = read(vec![started(1)], 1);
    model.world = Snapshot::default();
    fold(&mut model.world, &entry(lifecycle(1), 1));
    assert!(first_run(&model));
    let before = model.world.clone();
    // One agent is enough: there may be no other.
    assert!(model.append(&entry(message(2), 2)));
    assert!(!first_run(&model));
    // Of what stands far back nothing was read.
    let mut world = before;
    for line in 2..=5 {
        fold(&mut world, &entry(message(line), line));
    }
    fold(&mut world, &entry(lifecycle(6), 6));
    model.reset(world, page(vec![started(6)], 6), 0);
    assert_eq!(lines(&model), [6]);
    assert!(!first_run(&model));
}
