//! Two agents that answer each other wait for their person after a while.

use super::commands::change_queue;
use super::rig::{Guest, Rig};
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::core::agent::{Agent, Party};
use crate::core::delivery::OnBusy;
use crate::core::entry::{LifecycleEvent, TurnStatus};
use crate::core::id::{EntryId, RuntimeSession, ThreadId, TurnId};
use crate::store::testing::Place;
use crate::wire::control::{
    ClearParams, Command, GetMessagesParams, HookEvent, HookParams, QueueChange, Reply, Role,
    SendParams,
};
use crate::wire::status::ExchangeStatus;

const CLAUDE: u32 = 4_000_001;

struct Talk {
    rig: Rig,
    claude: Guest,
    hook: Guest,
    turns: usize,
}

impl Talk {
    async fn new(rig: Rig) -> Self {
        Self::of(rig, RuntimeSession::default().as_str()).await
    }

    async fn of(mut rig: Rig, pair: &str) -> Self {
        let claude = rig.connect_to(pair, Role::Claude, Some(CLAUDE));
        let hook = rig.connect(Role::Hook, None, false);
        Self {
            rig,
            claude,
            hook,
            turns: 0,
        }
    }

    /// Claude says something, and Codex answers it where it gets it.
    async fn thanks(&mut self) -> EntryId {
        let id = self.rig.send(&self.claude, Agent::Claude, OnBusy::Queue);
        let id = id.await;
        for given in self.rig.delivered_ids() {
            self.turn(Some(&given)).await;
        }
        id
    }

    /// A turn of Codex with this message, or with the person's words.
    async fn turn(&mut self, with: Option<&EntryId>) {
        let turn = self.turn_begins(with).await;
        let ids: Vec<EntryId> = with.into_iter().cloned().collect();
        self.rig.status(ReportedStatus::Idle);
        self.rig.completed(&turn, &ids, "Thanks to you");
        self.rig.settle().await;
    }

    async fn turn_begins(&mut self, with: Option<&EntryId>) -> String {
        self.turns += 1;
        let turn = format!("turn-{}", self.turns);
        self.rig.status(ReportedStatus::Active { waiting: false });
        self.rig.fact(CodexFact::TurnStarted {
            thread_id: ThreadId::new("thread-1"),
            turn_id: TurnId::new(turn.as_str()),
        });
        self.rig.user_message(&turn, with);
        self.rig.settle().await;
        turn
    }

    /// They thank each other until something waits, and Claude once more.
    async fn goes_round(&mut self) -> ExchangeStatus {
        for _ in 0..7 {
            assert_eq!(self.exchanges(), []);
            self.thanks().await;
        }
        let held = self.exchanges();
        assert_eq!((held[0].answers, held[0].held), (12, 1));
        assert_eq!(held[0].to, Agent::Claude);
        assert_eq!(self.unread().await, 6, "the seventh answer waits");
        self.thanks().await;
        assert_eq!(self.turns, 7, "Codex gets no more either");
        self.exchanges().remove(0)
    }

    fn exchanges(&self) -> Vec<ExchangeStatus> {
        self.rig.daemon.status().exchanges
    }

    async fn unread(&mut self) -> usize {
        let get = Command::GetMessages(GetMessagesParams::of(Agent::Claude));
        match self.rig.call(&self.claude, get).await {
            Ok(Reply::Messages(page)) => page.messages.len(),
            other => panic!("{other:?}"),
        }
    }

    async fn release(&mut self, id: &EntryId) {
        let operator = self.rig.connect(Role::Deck, None, true);
        let release = change_queue(id.clone(), QueueChange::Retry);
        assert_eq!(self.rig.call(&operator, release).await, Ok(Reply::Done));
        self.rig.settle().await;
    }

    async fn hang_bell(&mut self) {
        let bell = self.rig.connect(Role::Hook, Some(CLAUDE), false);
        let attached = self.rig.call(&bell, Command::DoorbellAttach).await;
        assert_eq!(attached, Ok(Reply::Done));
    }

    /// What was not attempted for this long expires.
    fn expires_after(&mut self, ms: i64) {
        let agents = &mut self.rig.daemon.agents;
        agents.claude.set_timeouts(20_000, Some(ms));
        agents.codex.set_expiry(Some(ms));
    }

    fn waits(&self, id: &EntryId) -> bool {
        let world = self.rig.daemon.base.recorder.world();
        world.unsettled.contains_key(id)
    }

    async fn status_line(&mut self) -> String {
        let asks = HookParams {
            event: HookEvent::StatusLine,
            columns: Some(200),
            ..HookParams::default()
        };
        match self.rig.call(&self.hook, Command::Hook(asks)).await {
            Ok(Reply::Hook(reply)) => reply.additional_context.unwrap(),
            other => panic!("{other:?}"),
        }
    }

    async fn prompt(&mut self, from_monitor: bool) {
        let prompt = HookParams {
            event: HookEvent::UserPromptSubmit,
            claude_pid: Some(CLAUDE),
            from_monitor,
            ..HookParams::default()
        };
        let done = self.rig.call(&self.hook, Command::Hook(prompt)).await;
        assert!(matches!(done, Ok(Reply::Hook(_))), "{done:?}");
        self.rig.settle().await;
    }
}

#[tokio::test]
async fn agents_that_answer_each_other_wait_over_a_restart_until_they_are_let_go_on() {
    for in_next_session in [false, true] {
        let place = Place::new();
        let mut talk = Talk::new(Rig::with_codex(&place).await).await;
        if in_next_session {
            let operator = talk.rig.connect(Role::Deck, None, true);
            let clear = Command::Clear(ClearParams::default());
            talk.rig.call(&operator, clear).await.unwrap();
        }
        let held = talk.goes_round().await;
        assert_eq!(held.held, 2);
        drop(talk);

        let mut talk = Talk::new(Rig::with_codex(&place).await).await;
        talk.turns = 100;
        assert_eq!(talk.exchanges(), std::slice::from_ref(&held));
        assert_eq!(talk.rig.delivered_ids(), []);
        talk.release(&held.message).await;
        assert_eq!(talk.exchanges(), []);
        assert_eq!(talk.unread().await, 7);
        let given = talk.rig.delivered_ids();
        assert_eq!(given.len(), 1);
        // Counted anew.
        talk.turn(Some(&given[0])).await;
        talk.thanks().await;
        assert_eq!(talk.exchanges(), []);
    }
}

#[tokio::test]
async fn what_an_earlier_version_recorded_without_the_persons_prompts_is_not_counted() {
    let place = Place::new();
    let mut talk = Talk::new(Rig::with_codex(&place).await).await;
    // As an earlier version began.
    let (event, said) = (LifecycleEvent::DaemonStarted, "the daemon started");
    let recorder = &mut talk.rig.daemon.base.recorder;
    let began = recorder.entry(Party::System, None, event, said, None);
    recorder.append(vec![began], Box::new(|_, _| {}));
    talk.rig.settle().await;
    talk.rig.status(ReportedStatus::Idle);
    for _ in 0..7 {
        talk.thanks().await;
    }
    drop(talk);

    let mut talk = Talk::new(Rig::with_codex(&place).await).await;
    talk.turns = 100;
    assert_eq!(talk.exchanges(), []);
    assert_eq!(talk.unread().await, 7);
    talk.thanks().await;
    assert_eq!(talk.exchanges(), []);
    assert_eq!(talk.unread().await, 8);
    // From there on they are.
    for _ in 0..6 {
        talk.thanks().await;
    }
    assert_eq!(talk.exchanges()[0].held, 1);
}

#[tokio::test]
async fn what_was_let_go_waits_as_long_as_anything_over_a_restart_and_a_sleep_too() {
    const EXPIRY_MS: i64 = 60_000;
    const NIGHT_MS: i64 = 8 * 60 * 60_000;
    let place = Place::new();
    let mut talk = Talk::new(Rig::with_codex(&place).await).await;
    talk.hang_bell().await;
    let held = talk.goes_round().await;
    talk.expires_after(EXPIRY_MS);
    talk.rig.daemon.base.clock.sleep(NIGHT_MS);
    talk.rig.later(EXPIRY_MS + 1_000).await;
    assert!(talk.waits(&held.message));
    talk.release(&held.message).await;
    talk.rig.later(1_000).await;
    assert!(talk.waits(&held.message));
    assert_eq!(talk.rig.delivered_ids().len(), 1);
    drop(talk);

    let mut talk = Talk::new(Rig::with_codex(&place).await).await;
    // Its clock starts with the wall.
    talk.rig.daemon.base.clock.pass(NIGHT_MS);
    talk.hang_bell().await;
    talk.expires_after(EXPIRY_MS);
    talk.rig.later(EXPIRY_MS + 2_000).await;
    assert!(talk.waits(&held.message));
    talk.rig.later(EXPIRY_MS).await;
    assert!(!talk.waits(&held.message));
}

#[tokio::test]
async fn what_waits_for_the_persons_word_is_let_go_and_what_they_stopped_stays() {
    let mut talk = Talk::new(Rig::fresh_with_codex().await).await;
    for _ in 0..6 {
        talk.thanks().await;
    }
    let last = talk
        .rig
        .send(&talk.claude, Agent::Claude, OnBusy::Queue)
        .await;
    assert_eq!(talk.rig.delivered_ids(), std::slice::from_ref(&last));
    let turn = talk.turn_begins(Some(&last)).await;
    let codex = talk.rig.connect(Role::Codex, None, false);
    talk.rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    let held = talk
        .rig
        .send(&talk.claude, Agent::Claude, OnBusy::Queue)
        .await;
    talk.rig.status(ReportedStatus::Idle);
    talk.rig.fact(CodexFact::TurnCompleted {
        thread_id: ThreadId::new("thread-1"),
        turn_id: TurnId::new(turn.as_str()),
        status: TurnStatus::Interrupted,
        final_answer: None,
        client_ids: vec![last.to_string()],
        error: None,
        usage_limited: false,
        died: false,
    });
    talk.rig.settle().await;
    assert_eq!(talk.exchanges()[0].held, 2);
    assert!(talk.rig.daemon.status().agents.codex.held);

    talk.release(&held).await;
    assert_eq!(talk.exchanges(), []);
    assert!(talk.rig.daemon.status().agents.codex.held);
    assert_eq!(talk.rig.delivered_ids(), []);
    // And once more, for what they stopped.
    talk.release(&held).await;
    assert!(!talk.rig.daemon.status().agents.codex.held);
    assert_eq!(talk.rig.delivered_ids(), [held]);
}

#[tokio::test]
async fn what_a_daemon_died_over_that_was_to_be_held_is_held_by_the_next() {
    let place = Place::new();
    let mut talk = Talk::new(Rig::with_codex(&place).await).await;
    // No doorbell comes: what there is is pushed at once.
    talk.rig.later(2_100).await;
    for _ in 0..6 {
        talk.thanks().await;
    }
    let last = talk
        .rig
        .send(&talk.claude, Agent::Claude, OnBusy::Queue)
        .await;
    talk.turn_begins(Some(&last)).await;
    let codex = talk.rig.connect(Role::Codex, None, false);
    let thanks = Command::Send(SendParams {
        from: Some(Agent::Codex),
        text: "thanks to you".to_owned(),
        ..SendParams::default()
    });
    drop(talk.rig.ask_only(&codex, thanks));
    drop(talk);

    let talk = Talk::new(Rig::with_codex(&place).await).await;
    assert_eq!(talk.exchanges()[0].held, 1);
}

#[tokio::test]
async fn the_operators_message_to_codex_lets_the_agents_of_every_pair_go_on() {
    let mut talk = Talk::of(Rig::fresh_with_codex().await, "second").await;
    let held = talk.goes_round().await;
    assert_eq!(held.pair, Some(RuntimeSession::new("second")));
    let operator = talk.rig.connect(Role::Deck, None, true);
    let said = Command::Send(SendParams {
        to: Some(Agent::Codex),
        text: "go on".to_owned(),
        ..SendParams::default()
    });
    drop(talk.rig.ask(&operator, said));
    talk.rig.settle().await;
    assert_eq!(talk.exchanges(), []);
    assert_eq!(talk.unread().await, 7);
}

#[tokio::test]
async fn the_line_below_claudes_composer_says_what_waits_for_the_person() {
    let mut talk = Talk::new(Rig::fresh_with_codex().await).await;
    talk.goes_round().await;
    let line = talk.status_line().await;
    assert!(line.contains("6 messages for Claude"), "{line}");
    assert!(!line.contains("for Codex"), "{line}");
    assert!(line.ends_with("2 held messages wait for you"), "{line}");
}

#[tokio::test]
async fn a_prompt_of_the_persons_in_either_terminal_lets_them_go_on() {
    for in_claude in [true, false] {
        let mut talk = Talk::new(Rig::fresh_with_codex().await).await;
        talk.goes_round().await;
        talk.prompt(true).await;
        assert_eq!(talk.exchanges().len(), 1, "the doorbell is nobody's word");
        match in_claude {
            true => talk.prompt(false).await,
            false => talk.turn(None).await,
        }
        assert_eq!(talk.exchanges(), [], "in_claude: {in_claude}");
        assert_eq!(talk.rig.delivered_ids().len(), 1);
    }
}
