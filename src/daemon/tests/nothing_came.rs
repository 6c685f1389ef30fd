//! What Claude is told where Codex's turn on its message comes to nothing.

use super::rig::{Guest, Rig};
use super::silence::{agent_action, ended};
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::adapters::codex::request::CodexRequest;
use crate::core::agent::{Agent, Party};
use crate::core::delivery::OnBusy;
use crate::core::entry::{EntryKind, TurnStatus};
use crate::core::id::{EntryId, RuntimeSession, ThreadId, TurnId};
use crate::store::testing::Place;
use crate::wire::config::read;
use crate::wire::control::{
    AgentActionKind, Command, GetMessagesParams, HandoffParams, Reply, Role, SendParams,
};

pub(super) fn question() -> Command {
    Command::Send(SendParams {
        from: Some(Agent::Claude),
        text: "may I drop the table?".to_owned(),
        require_reply: true,
        ..SendParams::default()
    })
}

pub(super) fn handoff() -> Command {
    Command::Handoff(HandoffParams {
        from: Some(Agent::Claude),
        ask: "run the tests".to_owned(),
        ..HandoffParams::default()
    })
}

/// What we ourselves told Claude: what each message is about, and what it says.
pub(super) fn told(rig: &Rig) -> Vec<(EntryId, String)> {
    let entries = rig.daemon.base.recorder.recent().iter();
    let told = entries.filter_map(|stored| match &stored.entry.kind {
        EntryKind::Message(message) if stored.entry.source == Party::System => {
            assert_eq!(stored.entry.target, Some(Agent::Claude.into()));
            let about = message.in_reply_to.clone().unwrap();
            Some((about, stored.entry.content.clone()))
        }
        _ => None,
    });
    told.collect()
}

/// Brings a message of Claude's to Codex as the first of a turn.
pub(super) async fn begun(rig: &mut Rig, claude: &Guest, command: Command, turn: &str) -> EntryId {
    let id = rig.newest(claude, command).await;
    rig.user_message(turn, Some(&id));
    rig.status(ReportedStatus::Active { waiting: false });
    rig.settle().await;
    id
}

pub(super) async fn dies(rig: &mut Rig, turn: &str, id: &EntryId, error: Option<&str>, died: bool) {
    rig.fact(CodexFact::TurnCompleted {
        thread_id: ThreadId::new("thread-1"),
        turn_id: TurnId::new(turn),
        status: match error {
            Some(_) => TurnStatus::Failed,
            None => TurnStatus::Interrupted,
        },
        final_answer: None,
        client_ids: vec![id.to_string()],
        error: error.map(str::to_owned),
        usage_limited: false,
        died,
    });
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
}

#[tokio::test]
async fn claude_hears_once_that_its_question_or_handoff_came_to_nothing_and_why() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let asked = begun(&mut rig, &claude, question(), "turn-1").await;
    let error = "Codex ran out of room\u{1b}[2J in the model's context window\n[end of x]";
    for _ in 0..2 {
        // The history is read anew.
        dies(&mut rig, "turn-1", &asked, Some(error), false).await;
    }
    let handed = begun(&mut rig, &claude, handoff(), "turn-2").await;
    dies(&mut rig, "turn-2", &handed, None, false).await;
    let crashed = begun(&mut rig, &claude, question(), "turn-3").await;
    dies(&mut rig, "turn-3", &crashed, None, true).await;
    // Nobody waits for an answer to a mere message whose turn the person stops.
    let word = Command::Send(SendParams {
        from: Some(Agent::Claude),
        text: "the tests are green".to_owned(),
        ..SendParams::default()
    });
    let word = begun(&mut rig, &claude, word, "turn-4").await;
    dies(&mut rig, "turn-4", &word, None, false).await;

    let told = told(&rig);
    let about: Vec<_> = told.iter().map(|(id, _)| id).collect();
    assert_eq!(about, [&asked, &handed, &crashed]);
    let [failed, stopped, died] = [0, 1, 2].map(|at| told[at].1.as_str());
    assert!(
        failed.contains("failed: \u{201c}Codex ran out of room [2J in the model's context window"),
        "{failed}"
    );
    assert!(!failed.contains("[end of x]") && failed.contains("may I drop the table?"));
    assert!(stopped.contains("was stopped by your operator") && stopped.contains("your handoff"));
    assert!(died.contains("died with its app-server"), "{died}");
    // Both stay open, and nothing answers them.
    let world = rig.daemon.base.recorder.world();
    assert_eq!(world.open_questions.len(), 2);
    assert_eq!(world.open_handoffs[&handed].answer, None);
    // It is delivered as any message is.
    let get = Command::GetMessages(GetMessagesParams::of(Agent::Claude));
    let Ok(Reply::Messages(page)) = rig.call(&claude, get).await else {
        panic!("no page");
    };
    assert_eq!(page.messages.len(), 3);
    let head = page.messages[0].text.lines().next().unwrap();
    assert!(
        head.starts_with("[ctxrelay reply ")
            && head.contains("from system, not from your operator"),
        "{head}"
    );
    assert_eq!(page.messages[0].in_reply_to.as_ref(), Some(&asked));
}

#[tokio::test]
async fn it_hears_of_its_own_pairs_messages_only_and_again_of_another_try() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect_to("second", Role::Claude, Some(7_000_001));
    let asked = begun(&mut rig, &claude, question(), "turn-1").await;
    dies(&mut rig, "turn-1", &asked, Some("no room"), false).await;
    let unsettled = rig.daemon.base.recorder.world().unsettled.values();
    let pairs: Vec<_> = unsettled.map(|message| message.pair()).collect();
    assert_eq!(pairs, [RuntimeSession::new("second")]);
    let operator = rig.connect(Role::Deck, None, true);
    let again = agent_action(Agent::Codex, AgentActionKind::Requeue);
    rig.call(&operator, again).await.unwrap();
    rig.user_message("turn-2", Some(&asked));
    rig.settle().await;
    dies(&mut rig, "turn-2", &asked, Some("no room"), false).await;
    assert_eq!(told(&rig).len(), 2);
}

#[tokio::test]
async fn of_a_turn_that_began_with_somebody_elses_words_or_was_answered_it_hears_nothing() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    // The person typed, and stops what they began.
    rig.user_message("turn-1", None);
    rig.status(ReportedStatus::Active { waiting: false });
    let steered = rig.send(&claude, Agent::Claude, OnBusy::Steer).await;
    rig.steered("turn-1", &steered);
    dies(&mut rig, "turn-1", &steered, None, false).await;
    // Answered before it failed.
    let asked = begun(&mut rig, &claude, question(), "turn-2").await;
    let no = Command::Send(SendParams {
        from: Some(Agent::Codex),
        text: "NO".to_owned(),
        in_reply_to: Some(asked.clone()),
        turn_id: Some("turn-2".to_owned()),
        ..SendParams::default()
    });
    drop(rig.ask(&codex, no));
    rig.settle().await;
    dies(&mut rig, "turn-2", &asked, Some("no room"), false).await;
    // A turn that ends well.
    let handed = begun(&mut rig, &claude, handoff(), "turn-3").await;
    rig.completed("turn-3", std::slice::from_ref(&handed), "done");
    rig.settle().await;
    assert_eq!(told(&rig), []);
}

#[tokio::test]
async fn at_a_usage_limit_it_hears_of_what_is_not_sent_again_by_itself() {
    for (mode, count) in [("notify", 1), ("resume", 0)] {
        let mut rig = Rig::fresh_with_codex().await;
        let file = serde_json::json!({"rateLimitResume": {"mode": mode}});
        let (config, _) = read(file.as_object().unwrap());
        rig.daemon.set_limit_mode(&config);
        let claude = rig.connect(Role::Claude, None, false);
        let asked = begun(&mut rig, &claude, question(), "turn-1").await;
        ended(&mut rig, "turn-1", TurnStatus::Failed, &[&asked], true).await;
        assert_eq!(told(&rig).len(), count, "{mode}");
    }
}

/// Whether Codex was asked for, which has its history read.
fn is_asked(rig: &mut Rig) -> bool {
    let asked = std::iter::from_fn(|| rig.requests.try_recv().ok());
    asked
        .filter(|request| matches!(request, CodexRequest::Ensure { .. }))
        .count()
        == 1
}

/// The ends of turns on record.
fn turn_ends(rig: &Rig) -> Vec<(TurnId, TurnStatus)> {
    let entries = rig.daemon.base.recorder.recent().iter();
    let ends = entries.filter_map(|stored| match &stored.entry.kind {
        EntryKind::Turn(turn) if turn.status != TurnStatus::InProgress => {
            Some((turn.turn_id.clone(), turn.status))
        }
        _ => None,
    });
    ends.collect()
}

fn cut_off(rig: &Rig) -> Vec<EntryId> {
    rig.daemon
        .base
        .recorder
        .world()
        .cut_off
        .keys()
        .cloned()
        .collect()
}

#[tokio::test]
async fn a_turn_that_ended_with_the_daemon_is_told_by_the_next_one_once_codex_has_said_so() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let asked = begun(&mut rig, &claude, question(), "turn-1").await;
    let steered = rig.send(&claude, Agent::Claude, OnBusy::Steer).await;
    rig.steered("turn-1", &steered);
    rig.settle().await;
    drop(rig);
    // This one ends before Codex has answered.
    let mut rig = Rig::start(&place).await;
    assert!(is_asked(&mut rig));
    assert_eq!(told(&rig), []);
    assert_eq!(turn_ends(&rig), []);
    assert_eq!(cut_off(&rig), [asked.clone(), steered.clone()]);
    drop(rig);
    for starts in 0..2 {
        let mut rig = Rig::start(&place).await;
        assert_eq!(is_asked(&mut rig), starts == 0);
        rig.codex_runs().await;
        // Its rollout is read, and says how it ended.
        dies(&mut rig, "turn-1", &asked, None, true).await;
        let told = told(&rig);
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].0, asked);
        assert!(told[0].1.contains("died with its app-server"), "{told:?}");
        assert_eq!(cut_off(&rig), [asked.clone(), steered.clone()]);
        let backlog = rig.daemon.deliveries.outbox.backlog();
        assert_eq!(backlog.count(Agent::Claude), 1, "it is on its way");
    }
}

#[tokio::test]
async fn a_turn_that_came_to_its_end_behind_the_daemon_has_its_answer_relayed_and_is_not_cut_off() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let asked = begun(&mut rig, &claude, question(), "turn-1").await;
    drop(rig);
    let mut rig = Rig::start(&place).await;
    rig.codex_runs().await;
    // As its history has it.
    rig.user_message("turn-1", Some(&asked));
    rig.completed("turn-1", std::slice::from_ref(&asked), "you may");
    rig.settle().await;
    assert_eq!(told(&rig), []);
    assert_eq!(cut_off(&rig), []);
    let completed = (TurnId::new("turn-1"), TurnStatus::Completed);
    assert_eq!(turn_ends(&rig), [completed]);
    assert!(rig.daemon.base.recorder.world().open_questions.is_empty());
    let entries = rig.daemon.base.recorder.recent().iter();
    let answers = entries.filter(|stored| match &stored.entry.kind {
        EntryKind::Message(message) => message.in_reply_to.as_ref() == Some(&asked),
        _ => false,
    });
    let answers: Vec<&str> = answers.map(|stored| &*stored.entry.content).collect();
    assert_eq!(answers, ["you may"]);
    drop(rig);
    let mut rig = Rig::start(&place).await;
    assert!(!is_asked(&mut rig));
}

#[tokio::test]
async fn what_a_tool_had_answered_before_the_daemon_ended_is_not_answered_again_by_the_next_one() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let word = Command::Send(SendParams {
        from: Some(Agent::Claude),
        text: "are they green?".to_owned(),
        ..SendParams::default()
    });
    let asked = begun(&mut rig, &claude, word, "turn-1").await;
    let result = Command::Send(SendParams {
        from: Some(Agent::Codex),
        text: "they are green".to_owned(),
        turn_id: Some("turn-1".to_owned()),
        ..SendParams::default()
    });
    drop(rig.ask(&codex, result));
    rig.settle().await;
    drop(rig);
    let mut rig = Rig::start(&place).await;
    rig.codex_runs().await;
    rig.completed("turn-1", &[asked], "I have told it");
    rig.settle().await;
    let entries = rig.daemon.base.recorder.recent().iter();
    let said = entries.filter(|stored| stored.entry.source == Party::Agent(Agent::Codex));
    let said = said.filter(|stored| matches!(stored.entry.kind, EntryKind::Message(_)));
    let said: Vec<&str> = said.map(|stored| &*stored.entry.content).collect();
    assert_eq!(said, ["they are green"]);
}

#[tokio::test]
async fn of_a_turn_without_a_message_of_ours_codex_is_not_started_to_be_asked() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    rig.user_message("turn-1", None);
    rig.settle().await;
    drop(rig);
    let mut rig = Rig::start(&place).await;
    assert!(!is_asked(&mut rig));
    assert_eq!(turn_ends(&rig), []);
    // Whoever starts it has it told.
    rig.codex_runs().await;
    rig.completed("turn-1", &[], "done");
    rig.settle().await;
    let completed = (TurnId::new("turn-1"), TurnStatus::Completed);
    assert_eq!(turn_ends(&rig), [completed]);
}

#[tokio::test]
async fn a_turn_that_goes_on_under_another_process_is_told_by_that() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let asked = begun(&mut rig, &claude, question(), "turn-1").await;
    let left = rig.leave().await;
    let mut rig = Rig::start_after(&place, Some(left)).await;
    rig.codex_runs().await;
    for _ in 0..2 {
        dies(&mut rig, "turn-1", &asked, Some("no room"), false).await;
    }
    assert_eq!(told(&rig).len(), 1);
}
