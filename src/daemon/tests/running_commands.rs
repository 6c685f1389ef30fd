//! What Codex runs, as the status says it.

use super::rig::Rig;
use crate::adapters::codex::fact::CodexFact;
use crate::core::entry::TurnStatus;
use crate::core::id::{ThreadId, TurnId};
use crate::core::live_turn::{LiveAct, PlanStep, StepState};
use crate::store::testing::Place;
use crate::wire::control::{Command, Reply, Role};

fn begins(rig: &mut Rig, id: &str, command: &str) {
    rig.fact(CodexFact::CommandBegan {
        item_id: id.to_owned(),
        command: command.to_owned(),
    });
}

fn ends(rig: &mut Rig, id: &str) {
    let item_id = id.to_owned();
    rig.fact(CodexFact::CommandEnded { item_id });
}

fn shown(rig: &Rig) -> Option<String> {
    let command = rig.daemon.status().agents.codex.command;
    command.map(|command| command.text)
}

#[tokio::test]
async fn the_command_that_began_last_is_shown_until_it_or_its_turn_ends() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let entries = rig.daemon.status().ledger.entries;
    begins(&mut rig, "1", "cargo test");
    begins(&mut rig, "2", "cargo clippy");
    assert_eq!(shown(&rig).as_deref(), Some("cargo clippy"));
    ends(&mut rig, "2");
    assert_eq!(shown(&rig).as_deref(), Some("cargo test"));
    ends(&mut rig, "never begun");
    assert_eq!(shown(&rig).as_deref(), Some("cargo test"));
    assert_eq!(rig.daemon.status().ledger.entries, entries);
    rig.fact(CodexFact::TurnCompleted {
        thread_id: ThreadId::new("T"),
        turn_id: TurnId::new("U1"),
        status: TurnStatus::Completed,
        final_answer: None,
        client_ids: Vec::new(),
        error: None,
        usage_limited: false,
        died: false,
    });
    assert_eq!(shown(&rig), None);
}

#[tokio::test]
async fn a_command_is_shown_without_its_secrets_and_no_longer_than_a_line() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let secret = format!("ghp_{}", "a1B2c3D4".repeat(5).split_at(36).0);
    begins(
        &mut rig,
        "1",
        &format!("curl -H 'Authorization: token {secret}' x"),
    );
    let told = shown(&rig).unwrap_or_default();
    assert!(told.starts_with("curl -H"), "{told}");
    assert!(!told.contains(&secret), "{told}");
    begins(&mut rig, "2", &"é".repeat(5_000));
    let told = shown(&rig).unwrap_or_default();
    assert_eq!((told.chars().count(), told.ends_with('…')), (201, true));
    for n in 0..100 {
        begins(&mut rig, &n.to_string(), "true");
    }
    for n in 0..100 {
        ends(&mut rig, &n.to_string());
    }
    assert_eq!(shown(&rig), None, "no more than a few are kept");
}

#[tokio::test]
async fn a_persons_deck_reads_what_the_turn_did_without_secrets_and_no_agent_does() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    rig.fact(CodexFact::TurnStarted {
        thread_id: ThreadId::new("T"),
        turn_id: TurnId::new("U1"),
    });
    let secret = format!("ghp_{}", "a1B2c3D4".repeat(5).split_at(36).0);
    begins(&mut rig, "1", "cargo test");
    rig.fact(CodexFact::TurnDid {
        act: LiveAct::Said,
        text: format!("the token is {secret}"),
    });
    rig.fact(CodexFact::TurnPlanned {
        steps: vec![PlanStep {
            text: format!("use {secret}"),
            state: StepState::Active,
        }],
    });
    let deck = rig.connect(Role::Deck, None, false);
    let Reply::Turn(turn) = rig.call(&deck, Command::ReadTurn).await.unwrap() else {
        panic!("no turn");
    };
    let lines: Vec<&str> = turn.lines().map(|line| line.text.as_str()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0], "cargo test");
    assert!(turn.is_running());
    let told = format!("{turn:?}");
    assert!(!told.contains(&secret), "{told}");
    assert!(told.contains("the token is"), "{told}");
    for role in [Role::Claude, Role::Codex, Role::Hook] {
        assert!(!Command::ReadTurn.may_come_from(role), "{role:?}");
    }
}

#[tokio::test]
async fn another_conversation_shows_nothing_of_the_turn_before() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    rig.fact(CodexFact::TurnStarted {
        thread_id: ThreadId::new("T"),
        turn_id: TurnId::new("U1"),
    });
    begins(&mut rig, "1", "cargo test");
    rig.fact(CodexFact::ThreadAdopted {
        thread_id: ThreadId::new("another"),
    });
    let deck = rig.connect(Role::Deck, None, false);
    let Reply::Turn(turn) = rig.call(&deck, Command::ReadTurn).await.unwrap() else {
        panic!("no turn");
    };
    assert!(!turn.is_running(), "{turn:?}");
    assert_eq!(turn.lines().count(), 0, "{turn:?}");
}
