//! An answer that lies in the app-server's queue, behind the very turn that waits for it.

use tokio::sync::oneshot;

use super::commands::wait_messages;
use super::rig::{Guest, Rig};
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::adapters::codex::request::CodexRequest;
use crate::core::agent::Agent;
use crate::core::delivery::{DeliveryState, OnBusy};
use crate::core::id::EntryId;
use crate::daemon::base::clients::Wants;
use crate::store::testing::Place;
use crate::wire::control::{Command, IdsParams, MessagePage, Refusal, Reply, Role, SendParams};

type Answer = oneshot::Receiver<Result<Reply, Refusal>>;

/// A turn of Codex asked something, and went on.
struct Asked {
    rig: Rig,
    claude: Guest,
    codex: Guest,
    question: EntryId,
}

impl Asked {
    async fn new(mut rig: Rig) -> Self {
        let claude = rig.connect(Role::Claude, None, false);
        let codex = rig.connect(Role::Codex, None, false);
        rig.status(ReportedStatus::Active { waiting: false });
        let question = rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
        Self {
            rig,
            claude,
            codex,
            question,
        }
    }

    /// Claude answers while nobody waits: it is handed over.
    async fn answered(&mut self) -> EntryId {
        let send = Command::Send(SendParams {
            from: Some(Agent::Claude),
            text: "NO".to_owned(),
            in_reply_to: Some(self.question.clone()),
            ..SendParams::default()
        });
        drop(self.rig.ask(&self.claude, send));
        self.rig.settle().await;
        let [id] = &self.rig.delivered_ids()[..] else {
            panic!("it is handed over");
        };
        id.clone()
    }

    async fn waits_for(&mut self, question: Option<EntryId>) -> Answer {
        let wait = wait_messages(Agent::Codex, question, 50_000);
        let waiting = self.rig.ask(&self.codex, wait);
        self.rig.settle().await;
        waiting
    }

    async fn waits(&mut self) -> Answer {
        self.waits_for(Some(self.question.clone())).await
    }

    /// The messages that the adapter was asked to take back since the last look.
    fn asked_back(&mut self) -> Vec<EntryId> {
        let mut asked = Vec::new();
        while let Ok(request) = self.rig.requests.try_recv() {
            if let CodexRequest::TakeBack { message_id } = request {
                asked.push(message_id);
            }
        }
        asked
    }

    fn in_queue(&mut self, id: &EntryId) {
        let message_id = id.clone();
        self.rig.fact(CodexFact::Queued { message_id });
    }

    async fn taken_back(&mut self, id: &EntryId) {
        let message_id = id.clone();
        self.rig.fact(CodexFact::TakenBack { message_id });
        self.rig.settle().await;
    }

    fn state(&self, id: &EntryId) -> Option<DeliveryState> {
        Some(self.rig.daemon.deliveries.outbox.get(id)?.state)
    }
}

fn page(reply: Result<Reply, Refusal>) -> MessagePage {
    match reply {
        Ok(Reply::Messages(page)) => page,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_turn_gets_the_answer_that_lies_behind_it() {
    let mut asked = Asked::new(Rig::fresh_with_codex().await).await;
    let id = asked.answered().await;
    asked.in_queue(&id);
    let waiting = asked.waits().await;
    assert_eq!(asked.asked_back(), std::slice::from_ref(&id));
    asked.taken_back(&id).await;
    let page = page(waiting.await.unwrap());
    assert_eq!(page.messages[0].message_id, id);
    // It never came before a model's eyes, and goes out no second time.
    assert!(!page.messages[0].repeat);
    assert_eq!(asked.rig.delivered_ids(), []);
    let fetched = IdsParams {
        agent: Agent::Codex,
        ids: vec![id],
        rung: None,
    };
    let fetched = Command::Fetched(fetched);
    asked.rig.call(&asked.codex, fetched).await.unwrap();
    asked.rig.status(ReportedStatus::Idle);
    assert_eq!(asked.rig.delivered_ids(), []);
    let unsettled = &asked.rig.daemon.base.recorder.world().unsettled;
    let unsettled: Vec<_> = unsettled.keys().collect();
    assert_eq!(unsettled, [&asked.question]);
}

#[tokio::test]
async fn who_waits_before_it_lies_there_gets_it_as_well() {
    let mut asked = Asked::new(Rig::fresh_with_codex().await).await;
    let id = asked.answered().await;
    // Handed over, and not answered yet by the app-server.
    let waiting = asked.waits().await;
    assert_eq!(asked.asked_back(), []);
    asked.in_queue(&id);
    asked.rig.settle().await;
    assert_eq!(asked.asked_back(), std::slice::from_ref(&id));
    asked.taken_back(&id).await;
    assert_eq!(page(waiting.await.unwrap()).messages[0].message_id, id);
}

#[tokio::test]
async fn only_what_the_call_waits_for_is_asked_back_and_once() {
    let mut asked = Asked::new(Rig::fresh_with_codex().await).await;
    let other = asked
        .rig
        .send(&asked.claude, Agent::Claude, OnBusy::Queue)
        .await;
    assert_eq!(asked.rig.delivered_ids(), std::slice::from_ref(&other));
    asked.in_queue(&other);
    let mut waiting = asked.waits().await;
    assert_eq!(asked.asked_back(), []);
    // Who waits for anything gets that.
    let mut anything = asked.waits_for(None).await;
    assert_eq!(asked.asked_back(), std::slice::from_ref(&other));
    // Each entry of the record has them looked at again.
    asked
        .rig
        .send(&asked.codex, Agent::Codex, OnBusy::Queue)
        .await;
    assert_eq!(asked.asked_back(), []);
    assert!(waiting.try_recv().is_err() && anything.try_recv().is_err());
    assert_eq!(asked.state(&other), Some(DeliveryState::Offered));
}

#[tokio::test]
async fn what_has_begun_as_a_turn_is_proven_by_it() {
    let mut asked = Asked::new(Rig::fresh_with_codex().await).await;
    let id = asked.answered().await;
    asked.in_queue(&id);
    let mut waiting = asked.waits().await;
    assert_eq!(asked.asked_back(), std::slice::from_ref(&id));
    asked.rig.user_message("turn-2", Some(&id));
    // Told too late to be so.
    asked.taken_back(&id).await;
    assert_eq!(asked.state(&id), None);
    assert!(waiting.try_recv().is_err());
    asked.rig.status(ReportedStatus::Idle);
    assert_eq!(asked.rig.delivered_ids(), []);
}

#[tokio::test]
async fn what_nobody_waits_for_any_more_goes_out_again() {
    let mut asked = Asked::new(Rig::fresh_with_codex().await).await;
    let id = asked.answered().await;
    asked.in_queue(&id);
    let waiting = asked.waits().await;
    assert_eq!(asked.asked_back(), std::slice::from_ref(&id));
    drop(waiting);
    asked.taken_back(&id).await;
    assert_eq!(asked.rig.delivered_ids(), []);
    assert_eq!(asked.state(&id), Some(DeliveryState::Queued));
    // The turn ends.
    asked.rig.status(ReportedStatus::Idle);
    let delivered = asked.rig.delivered();
    assert_eq!(delivered.len(), 1);
    assert_eq!(delivered[0].0, id);
    assert!(!delivered[0].1.contains("shown before"));
}

#[tokio::test]
async fn what_is_kept_for_a_turn_goes_out_while_that_goes_on() {
    let mut asked = Asked::new(Rig::fresh_with_codex().await).await;
    let id = asked.answered().await;
    asked.in_queue(&id);
    let waiting = asked.waits().await;
    drop(waiting);
    asked.taken_back(&id).await;
    assert_eq!(asked.rig.delivered_ids(), []);
    let later = asked.rig.daemon.base.clock.now_ms() + 2_001;
    asked.rig.tick_codex(later);
    assert_eq!(asked.rig.delivered_ids(), [id]);
}

#[tokio::test]
async fn after_a_restart_it_is_asked_back_as_before() {
    let place = Place::new();
    let mut asked = Asked::new(Rig::with_codex(&place).await).await;
    let id = asked.answered().await;
    asked.in_queue(&id);
    let waiting = asked.waits().await;
    assert_eq!(asked.asked_back(), std::slice::from_ref(&id));
    let Asked {
        mut rig, question, ..
    } = asked;
    rig.settle().await;
    drop((waiting, rig));
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    rig.status(ReportedStatus::Active { waiting: false });
    let mut asked = Asked {
        rig,
        claude,
        codex,
        question,
    };
    assert_eq!(asked.rig.delivered_ids(), []);
    let waiting = asked.waits().await;
    let message_id = id.clone();
    asked.rig.fact(CodexFact::StillQueued { message_id });
    asked.rig.settle().await;
    assert!(asked.asked_back().contains(&id));
    asked.taken_back(&id).await;
    assert_eq!(page(waiting.await.unwrap()).messages[0].message_id, id);
}

#[tokio::test]
async fn who_waits_is_not_forgotten_when_its_time_is_up() {
    let mut asked = Asked::new(Rig::fresh_with_codex().await).await;
    let id = asked.answered().await;
    asked.in_queue(&id);
    let waiting = asked.waits().await;
    let clients = &mut asked.rig.daemon.base.clients;
    clients.make_due(|wants| matches!(wants, Wants::Messages { .. }));
    let base = &mut asked.rig.daemon.base;
    asked.rig.daemon.deliveries.expire_waiters(base);
    assert!(page(waiting.await.unwrap()).timed_out);
    asked.taken_back(&id).await;
    // It asks again at once.
    let waiting = asked.waits().await;
    assert_eq!(page(waiting.await.unwrap()).messages[0].message_id, id);
    assert_eq!(asked.rig.delivered_ids(), []);
}
