//! `ctxrelay demo` by the real binary: the story as text, its end by a signal, and the operator's
//! part of it over a daemon in this process.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use ctxrelay::client::Client;
use ctxrelay::core::agent::{Agent, AgentState};
use ctxrelay::core::id::EntryId;
use ctxrelay::core::snapshot::Snapshot;
use ctxrelay::demo::play::{Ending, play};
use ctxrelay::demo::world::set_up;
use ctxrelay::store::ledger::verify;
use ctxrelay::store::session;
use ctxrelay::wire::control::{Command, DecideParams, LedgerListParams, Reply, Role, SendParams};
use rustix::process::Signal;

use crate::support::child::{Child, run};
use crate::support::launch::Launch;
use crate::support::panes::wait_for_state;
use crate::support::picture::is_as_kept;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::wait::{timeout, wait_until};

/// `ctxrelay demo` with a temporary folder of its own.
fn demo(project: &Project, speed: &str) -> (Launch, PathBuf) {
    let temporary = project.base().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let launch = project
        .program(env!("CARGO_BIN_EXE_ctxrelay"))
        .args(["demo", "--speed", speed])
        .env("TMPDIR", &temporary)
        .env("TZ", midday());
    (launch, temporary)
}

/// A zone in which it is about noon: what was told before midnight would stand under a heading.
fn midday() -> String {
    let hours = UNIX_EPOCH.elapsed().unwrap().as_secs() / 3_600;
    format!("NOON{:+}", (hours % 24).cast_signed() - 12)
}

/// Processes whose command line or environment names a folder.
fn processes_at(folder: &Path) -> Vec<String> {
    let needle = folder.to_str().unwrap();
    let names = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).contains(needle);
    std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|process| {
            ["cmdline", "environ"]
                .iter()
                .any(|file| std::fs::read(process.join(file)).is_ok_and(names))
        })
        .map(|process| process.display().to_string())
        .collect()
}

/// The demo's folder is empty and no process of it lives.
#[track_caller]
fn nothing_is_left(temporary: &Path) {
    wait_until("the demo's processes to be gone", timeout(), || {
        processes_at(temporary).is_empty().then_some(())
    });
    let left: Vec<_> = std::fs::read_dir(temporary)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The words of a printed entry: who, to whom, and what it is.
fn kinds(lines: &[String]) -> Vec<String> {
    lines
        .iter()
        .filter(|line| line.as_bytes().get(2) == Some(&b':'))
        .map(|line| {
            let mut fields = line
                .split("  ")
                .map(str::trim)
                .filter(|field| !field.is_empty());
            let (_, parties, kind) = (
                fields.next(),
                fields.next().unwrap(),
                fields.next().unwrap(),
            );
            format!("{parties}: {kind}")
        })
        .collect()
}

#[test]
fn without_a_terminal_the_story_is_told_in_order_and_nothing_is_left() {
    let project = Project::without_git();
    let (launch, temporary) = demo(&project, "50");
    let finished = Child::spawn(&launch).wait().expect_success();
    let lines: Vec<String> = finished.stdout.lines().map(str::to_owned).collect();

    assert!(lines[0].contains("demo"), "{}", lines[0]);
    let told = kinds(&lines);
    // Each of these comes after the one before; states of the agents may stand in between.
    let mut rest = told.iter();
    for expected in [
        "system: session",
        "system: daemon",
        "claude: goal",
        "claude: plan",
        "claude → codex: handoff",
        "codex: turn",
        "codex: artifact",
        "codex → claude: message",
        "system → claude: delivery",
        "claude: decision",
        "claude → codex: message",
        "codex: turn",
        "codex → claude: answer",
        "system → claude: delivery",
        "claude: artifact",
        "claude → human: proposal",
    ] {
        assert!(
            rest.any(|kind| kind == expected),
            "no {expected} in its place: {told:#?}"
        );
    }
    // Nobody decided, nothing went wrong, and nothing was said twice.
    for (kind, times) in [
        ("human → claude: decision", 0),
        ("system: error", 0),
        ("claude → codex: handoff", 1),
        ("codex → claude: message", 1),
        ("codex → claude: answer", 1),
        ("system → codex: delivery", 2),
        ("system → claude: delivery", 4),
    ] {
        let count = told.iter().filter(|told| *told == kind).count();
        assert_eq!(count, times, "{kind}: {told:#?}");
    }
    assert!(
        finished.stdout.contains("The record verifies"),
        "{finished:#?}"
    );
    assert!(
        finished.stdout.contains("you would now decide"),
        "{finished:#?}"
    );
    nothing_is_left(&temporary);
    // The user's own registry was not touched.
    assert!(!project.base().join("xdg/state/contextrelay").exists());
}

/// The screen as a user has it, not as the deck's own scenes have it: the same program, with real
/// agents' traffic, through a terminal.
#[test]
fn the_deck_of_the_demo_is_as_its_picture() {
    let project = Project::new();
    let (demo, temporary) = demo(&project, "8");
    let mut deck = Pty::spawn(&demo).labelled("demo");
    deck.wait_for_text("Nothing waits for you");
    deck.wait_for_text("12 min");
    // Until the proposal is there that the operator has to decide.
    deck.wait_until_gone("Nothing waits for you");
    wait_for_state(&mut deck, "Claude", "idle");
    wait_for_state(&mut deck, "Codex", "idle");
    is_as_kept(&deck, "demo-in-a-terminal");
    assert_eq!(deck.press_until_exit(Key::Char('q')), 0);
    nothing_is_left(&temporary);
}

#[test]
fn without_a_place_for_temporary_files_the_demo_says_which_variable_names_it() {
    let project = Project::new();
    let (launch, _) = demo(&project, "20");
    let refused = run(&launch.env("TMPDIR", "not-there").arg("--json"));
    assert_eq!(refused.code(), 3, "{refused:?}");
    let error = &refused.json()["error"];
    assert_eq!(error["code"], "unwritable");
    assert!(error["message"].as_str().unwrap().contains("not-there"));
    assert!(error["hint"].as_str().unwrap().contains("TMPDIR"));
}

#[test]
fn a_signal_in_the_middle_ends_the_demo_and_leaves_nothing() {
    let project = Project::without_git();
    let (launch, temporary) = demo(&project, "1");
    let mut demo = Child::spawn(&launch);
    demo.wait_for_line("the goal", |line| line.contains("  goal  ").then_some(()));
    assert!(!processes_at(&temporary).is_empty());
    demo.signal(Signal::INT);
    let finished = demo.wait();
    assert_ne!(finished.code(), 0, "{finished:#?}");
    nothing_is_left(&temporary);
}

/// Looks at the folded world until it has what is looked for.
async fn world<T>(client: &Client, what: &str, pick: impl Fn(&Snapshot) -> Option<T>) -> T {
    let mut notifications = client.notifications();
    let looked = async {
        loop {
            let Reply::Snapshot(world) = client.call(Command::ReadSnapshot).await.unwrap() else {
                panic!("no snapshot")
            };
            if let Some(found) = pick(&world) {
                return found;
            }
            notifications.recv().await.unwrap();
        }
    };
    match tokio::time::timeout(timeout(), looked).await {
        Ok(found) => found,
        Err(_) => panic!("waited in vain for {what}"),
    }
}

/// Waits until so many turns have ended, and says for the beginning and the end of each who
/// started it.
async fn turns(client: &Client, ended: usize) -> Vec<String> {
    world(client, "the turns to end", |world| {
        let codex = world.agent(Agent::Codex);
        (codex.state == AgentState::Idle).then_some(())
    })
    .await;
    let list = Command::LedgerList(LedgerListParams {
        ascending: true,
        entry_type: Some("runtime_event".to_owned()),
        ..LedgerListParams::default()
    });
    let Reply::Entries(page) = client.call(list).await.unwrap() else {
        panic!("no entries")
    };
    let events: Vec<_> = page
        .entries
        .into_iter()
        .map(|entry| entry.into_value()["runtimeEvent"].take())
        .collect();
    let turns = events.iter().filter(|event| event["kind"] == "turn");
    let completed = events
        .iter()
        .filter(|event| event["status"] == "completed")
        .count();
    assert_eq!(completed, ended, "{events:#?}");
    turns
        .map(|turn| turn["startedBy"].as_str().unwrap().to_owned())
        .collect()
}

async fn decide(client: &Client, proposal: &EntryId, reason: Option<&str>) {
    let decision = Command::Decide(DecideParams {
        reason: reason.map(str::to_owned),
        ..DecideParams::of(proposal.clone(), reason.is_none())
    });
    client.call(decision).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_agents_react_to_the_operator() {
    let demo = set_up(env!("CARGO_BIN_EXE_ctxrelay").into(), 100.0)
        .await
        .unwrap();
    let folder = demo.folder().to_path_buf();
    let running = demo.project.start_daemon().await.unwrap();
    let hello = demo.project.hello(Role::Deck, None);
    let deck = Client::in_process(running.handle.clone(), hello, true)
        .await
        .unwrap();
    deck.call(Command::Subscribe).await.unwrap();

    let story = async {
        let pending = |world: &Snapshot| world.pending_proposals.keys().next().cloned();
        let first = world(&deck, "the proposal", pending).await;
        decide(&deck, &first, Some("say how long a fetch may hang")).await;
        world(&deck, "Claude's note of the reason", |world| {
            let mut notes = world.notes.iter();
            notes
                .any(|note| note.text.contains("say how long a fetch may hang"))
                .then_some(())
        })
        .await;
        let second = world(&deck, "another proposal", pending).await;
        assert_ne!(first, second);
        let open = world(&deck, "the handoff", |world| {
            Some(world.open_handoffs.len())
        })
        .await;
        assert_eq!(open, 1, "a rejection closes nothing");
        decide(&deck, &second, None).await;
        world(&deck, "Claude's note of the approval", |world| {
            let noted = world
                .notes
                .iter()
                .any(|note| note.text.contains("approved it"));
            (noted && world.open_handoffs.is_empty()).then_some(())
        })
        .await;

        // After the story both still read what they are sent.
        for to in Agent::ALL {
            let message = SendParams {
                to: Some(to),
                text: "are you there?".to_owned(),
                ..SendParams::default()
            };
            deck.call(Command::Send(message)).await.unwrap();
        }
        world(&deck, "both to have read it", |world| {
            world.unsettled.is_empty().then_some(())
        })
        .await;
        world(&deck, "Claude's note that it is scripted", |world| {
            let mut notes = world.notes.iter();
            notes
                .any(|note| note.text.contains("a scripted Claude"))
                .then_some(())
        })
        .await;
        // Of each decision Codex hears too.
        let started_by = turns(&deck, 5).await;
        let expected = [["claude"; 2]; 2].concat();
        let expected = [expected, ["human"; 6].to_vec()].concat();
        assert_eq!(started_by, expected);
    };
    tokio::select! {
        () = story => {}
        ended = play(&demo, &running, Ending::Operator) => panic!("the play ended: {ended:?}"),
    }

    running.handle.shutdown(false).await;
    tokio::time::timeout(timeout(), running.handle.ended().cancelled())
        .await
        .unwrap();
    let dirs = &demo.project.dirs;
    let session = session::read_current(dirs).unwrap().unwrap();
    let report = verify(&dirs.ledger(&session), None).unwrap();
    assert!(report.ok, "{report:?}");
    drop(demo);
    assert!(!folder.exists());
}
