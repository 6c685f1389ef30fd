//! What answers a question, and what does not.

use super::commands::{fetched, wait_messages};
use super::rig::{Guest, Rig};
use crate::adapters::codex::fact::ReportedStatus;
use crate::core::agent::{Agent, Party};
use crate::core::delivery::OnBusy;
use crate::core::entry::{EntryKind, Message};
use crate::core::id::{EntryId, RuntimeSession};
use crate::daemon::base::clients::Wants;
use crate::wire::control::{
    Command, GetMessagesParams, HandoffParams, Refusal, RefusalCode, Reply, Role, SendParams, Sent,
};

fn said(from: Agent, text: &str) -> SendParams {
    SendParams {
        from: Some(from),
        text: text.to_owned(),
        ..SendParams::default()
    }
}

fn question(from: Agent) -> SendParams {
    SendParams {
        require_reply: true,
        ..said(from, "may I drop the table?")
    }
}

async fn send(rig: &mut Rig, guest: &Guest, params: SendParams) -> Result<Sent, Refusal> {
    let answer = rig.ask(guest, Command::Send(params));
    rig.settle().await;
    // Nobody proves what goes to a Codex that works.
    let clients = &mut rig.daemon.base.clients;
    clients.make_due(|wants| matches!(wants, Wants::Receipt(_)));
    rig.daemon.deliveries.expire_waiters(&mut rig.daemon.base);
    match answer.await.unwrap()? {
        Reply::Sent(sent) => Ok(sent),
        other => panic!("{other:?}"),
    }
}

/// Brings a question to Codex, as the first message of a turn.
async fn asked_codex(rig: &mut Rig, claude: &Guest) -> EntryId {
    let id = send(rig, claude, question(Agent::Claude)).await.unwrap();
    rig.user_message("turn-1", Some(&id.message_id));
    rig.status(ReportedStatus::Active { waiting: false });
    rig.settle().await;
    id.message_id
}

fn open(rig: &Rig) -> Vec<EntryId> {
    let open = rig.daemon.base.recorder.world().open_questions.values();
    open.map(|question| question.id.clone()).collect()
}

/// What Codex sent, with what it answers.
fn of_codex(rig: &Rig) -> Vec<(String, Option<EntryId>)> {
    let messages = rig
        .daemon
        .base
        .recorder
        .recent()
        .iter()
        .filter_map(|stored| {
            let EntryKind::Message(Message { in_reply_to, .. }) = &stored.entry.kind else {
                return None;
            };
            let is_its = stored.entry.source == Party::Agent(Agent::Codex);
            is_its.then(|| (stored.entry.content.clone(), in_reply_to.clone()))
        });
    messages.collect()
}

#[tokio::test]
async fn what_claude_says_before_it_has_read_a_question_is_not_its_answer() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let asked = send(&mut rig, &codex, question(Agent::Codex))
        .await
        .unwrap();
    let mut waiting = rig.ask(
        &codex,
        wait_messages(Agent::Codex, Some(asked.message_id.clone()), 50_000),
    );
    let other = said(Agent::Claude, "go on with the tests");
    let sent = rig.ask(&claude, Command::Send(other));
    rig.settle().await;
    drop(sent);
    assert_eq!(open(&rig), std::slice::from_ref(&asked.message_id));
    assert!(waiting.try_recv().is_err(), "nothing answers it");

    // Having read it, Claude is told that it stands.
    let get = Command::GetMessages(GetMessagesParams::of(Agent::Claude));
    let Ok(Reply::Messages(page)) = rig.call(&claude, get).await else {
        panic!("no page");
    };
    assert!(
        page.messages[0]
            .text
            .contains("reply with in_reply_to set to this id")
    );
    let fetched = fetched(Agent::Claude, vec![asked.message_id.clone()]);
    rig.call(&claude, fetched).await.unwrap();
    let more = send(&mut rig, &claude, said(Agent::Claude, "one more thing"))
        .await
        .unwrap();
    assert_eq!(more.unanswered, std::slice::from_ref(&asked.message_id));
    assert!(waiting.try_recv().is_err());

    let no = SendParams {
        in_reply_to: Some(asked.message_id.clone()),
        ..said(Agent::Claude, "NO")
    };
    let answer = send(&mut rig, &claude, no).await.unwrap();
    assert_eq!(answer.unanswered, []);
    assert!(open(&rig).is_empty());
    let Ok(Reply::Messages(page)) = waiting.await.unwrap() else {
        panic!("no page");
    };
    let ids: Vec<_> = page
        .messages
        .iter()
        .map(|message| &message.message_id)
        .collect();
    assert_eq!(ids, [&answer.message_id]);
}

#[tokio::test]
async fn an_answer_names_a_message_that_its_sender_was_sent_in_its_own_pair() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let asked = send(&mut rig, &codex, question(Agent::Codex))
        .await
        .unwrap();
    let reply = |to: &EntryId, pair: Option<&str>| SendParams {
        in_reply_to: Some(to.clone()),
        runtime_session_id: pair.map(RuntimeSession::new),
        ..said(Agent::Claude, "NO")
    };
    let _of_second = rig.connect_to("second", Role::Codex, None);
    let own = send(&mut rig, &claude, said(Agent::Claude, "hello"))
        .await
        .unwrap();
    let before = rig.daemon.base.recorder.world().counts["message"];
    for (id, pair) in [
        (EntryId::new("made-up"), None),
        (own.message_id, None),
        (asked.message_id.clone(), Some("second")),
    ] {
        let refused = send(&mut rig, &claude, reply(&id, pair)).await.unwrap_err();
        assert_eq!(refused.code, RefusalCode::NotFound, "{id}");
    }
    assert_eq!(rig.daemon.base.recorder.world().counts["message"], before);
    assert_eq!(open(&rig), std::slice::from_ref(&asked.message_id));
    // By the other name too it is no answer from there.
    let far = SendParams {
        handles: vec![asked.message_id.clone()],
        runtime_session_id: Some(RuntimeSession::new("second")),
        ..said(Agent::Claude, "NO")
    };
    send(&mut rig, &claude, far).await.unwrap();
    assert_eq!(open(&rig), std::slice::from_ref(&asked.message_id));
    let work = HandoffParams {
        from: Some(Agent::Claude),
        ask: "no: move its rows first".to_owned(),
        handles: vec![asked.message_id],
        ..HandoffParams::default()
    };
    drop(rig.ask(&claude, Command::Handoff(work)));
    rig.settle().await;
    assert!(open(&rig).is_empty());
}

#[tokio::test]
async fn what_codex_says_on_its_way_to_an_answer_is_not_the_answer() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let asked = asked_codex(&mut rig, &claude).await;
    let news = SendParams {
        turn_id: Some("turn-1".to_owned()),
        ..said(Agent::Codex, "I am looking")
    };
    let sent = send(&mut rig, &codex, news).await.unwrap();
    assert_eq!(sent.unanswered, [], "its final answer is to come");
    assert_eq!(open(&rig), std::slice::from_ref(&asked));
    rig.completed("turn-1", std::slice::from_ref(&asked), "NO");
    rig.settle().await;
    assert!(open(&rig).is_empty());
    assert_eq!(
        of_codex(&rig),
        [
            ("I am looking".to_owned(), None),
            ("NO".to_owned(), Some(asked))
        ]
    );
}

#[tokio::test]
async fn what_codex_answers_the_operator_is_recorded_and_delivered_to_nobody() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    let handed = Command::Handoff(HandoffParams {
        from: None,
        to: Some(Agent::Codex),
        ask: "find the leak".to_owned(),
        reason: "it grows".to_owned(),
        ..HandoffParams::default()
    });
    let answer = rig.ask(&operator, handed);
    rig.settle().await;
    let clients = &mut rig.daemon.base.clients;
    clients.make_due(|wants| matches!(wants, Wants::Receipt(_)));
    rig.daemon.deliveries.expire_waiters(&mut rig.daemon.base);
    let Ok(Reply::Sent(handed)) = answer.await.unwrap() else {
        panic!("not handed over");
    };
    rig.user_message("turn-1", Some(&handed.message_id));
    rig.settle().await;
    rig.completed(
        "turn-1",
        std::slice::from_ref(&handed.message_id),
        "it was the cache",
    );
    rig.settle().await;
    let id = handed.message_id;
    assert_eq!(
        of_codex(&rig),
        [("it was the cache".to_owned(), Some(id.clone()))]
    );
    let world = rig.daemon.base.recorder.world();
    assert!(world.open_handoffs[&id].answer.is_some());
    assert!(world.unsettled.is_empty());
    // Of a turn that Claude's message came into as well, Claude hears.
    let again = send(&mut rig, &claude, said(Agent::Claude, "which cache?")).await;
    let again = again.unwrap().message_id;
    rig.user_message("turn-2", Some(&again));
    rig.settle().await;
    rig.completed("turn-2", std::slice::from_ref(&again), "the index's");
    rig.settle().await;
    let unsettled = rig.daemon.base.recorder.world().unsettled.values();
    let to: Vec<Agent> = unsettled.map(|message| message.to).collect();
    assert_eq!(to, [Agent::Claude]);
}

#[tokio::test]
async fn a_message_for_a_pair_that_nobody_knows_is_refused_with_those_that_are_known() {
    let mut rig = Rig::fresh().await;
    let codex = rig.connect(Role::Codex, None, false);
    let to_pair = |name: &str| SendParams {
        runtime_session_id: Some(RuntimeSession::new(name)),
        ..said(Agent::Codex, "look")
    };
    let refused = send(&mut rig, &codex, to_pair("typo")).await.unwrap_err();
    assert_eq!(refused.code, RefusalCode::InvalidArguments);
    assert!(refused.message.contains("`typo`"), "{refused:?}");
    assert!(refused.hint.contains("default"), "{refused:?}");
    assert!(rig.daemon.base.recorder.world().unsettled.is_empty());
    assert!(send(&mut rig, &codex, to_pair("default")).await.is_ok());
}

#[tokio::test]
async fn an_answer_by_a_tool_is_not_said_again_by_the_turns_last_words() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let asked = asked_codex(&mut rig, &claude).await;
    let no = SendParams {
        in_reply_to: Some(asked.clone()),
        turn_id: Some("turn-1".to_owned()),
        ..said(Agent::Codex, "NO")
    };
    send(&mut rig, &codex, no).await.unwrap();
    assert!(open(&rig).is_empty());
    rig.completed("turn-1", std::slice::from_ref(&asked), "I have answered.");
    rig.settle().await;
    assert_eq!(of_codex(&rig), [("NO".to_owned(), Some(asked))]);
}

/// What Codex sent in the turn of a handoff in which it said `on_its_way` by its tool, with what each
/// answers; and the handoff.
async fn of_a_handoffs_turn(
    on_its_way: SendParams,
    last_words: &str,
) -> (Vec<(String, Option<EntryId>)>, EntryId) {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let work = Command::Handoff(HandoffParams {
        from: Some(Agent::Claude),
        ask: "run the tests".to_owned(),
        ..HandoffParams::default()
    });
    let id = rig.newest(&claude, work).await;
    rig.user_message("turn-1", Some(&id));
    rig.status(ReportedStatus::Active { waiting: false });
    rig.settle().await;
    let on_its_way = SendParams {
        turn_id: Some("turn-1".to_owned()),
        handles: on_its_way.handles.iter().map(|_| id.clone()).collect(),
        ..on_its_way
    };
    send(&mut rig, &codex, on_its_way).await.unwrap();
    rig.completed("turn-1", std::slice::from_ref(&id), last_words);
    rig.settle().await;
    (of_codex(&rig), id)
}

#[tokio::test]
async fn what_codex_says_on_its_way_through_a_handoff_takes_no_place_of_its_last_words() {
    let on_it = said(Agent::Codex, "On it");
    let (sent, id) = of_a_handoffs_turn(on_it, "All done: two fail").await;
    let of_work = |text: &str| (text.to_owned(), Some(id.clone()));
    assert_eq!(sent, [of_work("On it"), of_work("All done: two fail")]);
}

#[tokio::test]
async fn two_handoffs_that_codex_answers_in_the_same_words_are_both_answered() {
    for by_tool in [false, true] {
        let mut rig = Rig::fresh_with_codex().await;
        let claude = rig.connect(Role::Claude, None, false);
        let codex = rig.connect(Role::Codex, None, false);
        let mut handed = Vec::new();
        for ask in ["run the tests", "run the benches"] {
            let work = Command::Handoff(HandoffParams {
                from: Some(Agent::Claude),
                ask: ask.to_owned(),
                ..HandoffParams::default()
            });
            handed.push(rig.newest(&claude, work).await);
        }
        for (turn, id) in ["turn-1", "turn-2"].into_iter().zip(&handed) {
            rig.user_message(turn, Some(id));
            rig.status(ReportedStatus::Active { waiting: false });
            rig.settle().await;
            if by_tool && turn == "turn-1" {
                let itself = SendParams {
                    turn_id: Some(turn.to_owned()),
                    ..said(Agent::Codex, "Done. All tests pass.")
                };
                send(&mut rig, &codex, itself).await.unwrap();
            }
            rig.completed(turn, std::slice::from_ref(id), "Done. All tests pass.");
            rig.status(ReportedStatus::Idle);
            rig.settle().await;
        }
        let answered = handed
            .into_iter()
            .map(|id| ("Done. All tests pass.".to_owned(), Some(id)));
        assert_eq!(of_codex(&rig), answered.collect::<Vec<_>>(), "{by_tool}");
        let open = &rig.world().open_handoffs;
        assert!(open.values().all(|handoff| handoff.answer.is_some()));
    }
}

#[tokio::test]
async fn last_words_of_a_handoffs_turn_that_codex_sent_itself_are_sent_once() {
    let itself = said(Agent::Codex, "All done:  two fail");
    let (sent, _) = of_a_handoffs_turn(itself, "All done: two fail\n").await;
    assert_eq!(sent.len(), 1, "{sent:?}");
    let closing = SendParams {
        handles: vec![EntryId::new("of the handoff")],
        ..said(Agent::Codex, "two fail")
    };
    let (sent, _) = of_a_handoffs_turn(closing, "I told Claude.").await;
    assert_eq!(sent.len(), 1, "{sent:?}");
}

#[tokio::test]
async fn the_last_words_of_a_turn_on_something_else_leave_a_question_open() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    rig.user_message("turn-1", None);
    rig.status(ReportedStatus::Active { waiting: false });
    let steered = SendParams {
        on_busy: OnBusy::Steer,
        ..question(Agent::Claude)
    };
    let asked = send(&mut rig, &claude, steered).await.unwrap().message_id;
    rig.steered("turn-1", &asked);
    rig.completed(
        "turn-1",
        std::slice::from_ref(&asked),
        "the tests are green",
    );
    rig.settle().await;
    assert_eq!(open(&rig), [asked]);
    assert_eq!(of_codex(&rig), [("the tests are green".to_owned(), None)]);
}

#[tokio::test]
async fn nobody_waits_for_the_answer_to_what_was_never_asked() {
    let mut rig = Rig::fresh_with_codex().await;
    let codex = rig.connect(Role::Codex, None, false);
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    for (agent, guest) in [(Agent::Codex, &codex), (Agent::Claude, &claude)] {
        let wait = wait_messages(agent, Some(EntryId::new("nope")), 50_000);
        let refusal = rig.call(guest, wait).await.unwrap_err();
        assert_eq!(refusal.code, RefusalCode::NotFound);
    }
}
