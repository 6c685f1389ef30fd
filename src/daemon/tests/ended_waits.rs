//! Who waits for an answer that does not come any more hears so at once, and who does not wait is told.

use super::commands::{acked, change_queue, fetched, wait_messages};
use super::compact::{hand_off, note};
use super::nothing_came::{begun, question, told};
use super::proposals::{approve, proposed_as};
use super::rig::{Guest, Rig};
use crate::adapters::codex::fact::ReportedStatus;
use crate::core::agent::Agent;
use crate::core::delivery::OnBusy;
use crate::core::entry::{EntryKind, NoteKind};
use crate::core::id::EntryId;
use crate::store::testing::Place;
use crate::wire::control::{
    ClearParams, Command, GetMessagesParams, HookParams, MessagePage, NoteParams, QueueChange,
    QueueDrainParams, Reply, Role, SendParams,
};

/// Claude's question and its handoff wait for Codex, which is at something else.
struct Waiting {
    rig: Rig,
    claude: Guest,
    operator: Guest,
    asked: EntryId,
    handed: EntryId,
}

impl Waiting {
    async fn new(mut rig: Rig) -> Self {
        let claude = rig.connect(Role::Claude, None, false);
        let operator = rig.connect(Role::Deck, None, true);
        // One is on its way, so that the others wait.
        rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
        let asked = rig.newest(&claude, question()).await;
        let order = hand_off(Agent::Claude, "delete the branch");
        let handed = rig.newest(&claude, order).await;
        Self {
            rig,
            claude,
            operator,
            asked,
            handed,
        }
    }

    /// Claude waits for the answer to it while this comes; what it hears then.
    async fn waits_while(&mut self, id: &EntryId, by: &Guest, command: Command) -> MessagePage {
        let wait = wait_messages(Agent::Claude, Some(id.clone()), 50_000);
        let waiting = self.rig.ask(&self.claude, wait);
        self.rig.settle().await;
        self.rig.call(by, command).await.unwrap();
        self.rig.settle().await;
        page(waiting.await.unwrap())
    }

    async fn mail(&mut self) -> Vec<String> {
        let get = Command::GetMessages(GetMessagesParams::of(Agent::Claude));
        let page = page(self.rig.call(&self.claude, get).await);
        page.messages.into_iter().map(|it| it.text).collect()
    }
}

fn page<E: std::fmt::Debug>(reply: Result<Reply, E>) -> MessagePage {
    match reply {
        Ok(Reply::Messages(page)) => page,
        other => panic!("{other:?}"),
    }
}

fn close(id: &EntryId) -> Command {
    Command::AppendNote(NoteParams {
        handles: vec![id.clone()],
        ..NoteParams::new(None, NoteKind::Note, "done in another branch")
    })
}

#[tokio::test]
async fn a_wait_ends_with_who_took_the_question_back_and_that_is_told_once() {
    let mut it = Waiting::new(Rig::fresh_with_codex().await).await;
    let (asked, handed) = (it.asked.clone(), it.handed.clone());
    for (id, what) in [(&asked, "your question"), (&handed, "your handoff")] {
        let operator = it.rig.connect(Role::Deck, None, true);
        let remove = change_queue(id.clone(), QueueChange::Remove);
        let page = it.waits_while(id, &operator, remove).await;
        let [message] = &page.messages[..] else {
            panic!("{page:?}");
        };
        assert_eq!(message.in_reply_to.as_ref(), Some(id));
        for words in [what, "your operator took that back before Codex had it"] {
            assert!(message.text.contains(words), "{}", message.text);
        }
    }
    // It closes the handoff, too, which stayed in the operator's list.
    it.rig.call(&it.operator, close(&handed)).await.unwrap();
    it.rig.settle().await;
    assert_eq!(told(&it.rig).len(), 2);
}

#[tokio::test]
async fn who_waits_no_longer_is_told_of_what_was_taken_back_also_by_the_next_daemon() {
    let place = Place::new();
    let mut it = Waiting::new(Rig::with_codex(&place).await).await;
    // As one: each message may cost a turn.
    let drain = Command::QueueDrain(QueueDrainParams {
        to: Some(Agent::Codex),
        ..QueueDrainParams::default()
    });
    it.rig.call(&it.operator, drain).await.unwrap();
    let (asked, handed) = (it.asked.clone(), it.handed.clone());
    drop(it);
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let get = Command::GetMessages(GetMessagesParams::of(Agent::Claude));
    let page = page(rig.call(&claude, get).await);
    let [message] = &page.messages[..] else {
        panic!("{page:?}");
    };
    for id in [&asked, &handed] {
        assert!(message.text.contains(id.as_str()), "{}", message.text);
    }
    assert_eq!(told(&rig).len(), 1);
}

#[tokio::test]
async fn of_several_that_are_taken_back_at_once_each_wait_ends() {
    let mut it = Waiting::new(Rig::fresh_with_codex().await).await;
    let wait = |id: &EntryId| wait_messages(Agent::Claude, Some(id.clone()), 50_000);
    let waiting = [&it.asked, &it.handed].map(wait);
    let waiting = waiting.map(|wait| it.rig.ask(&it.claude, wait));
    it.rig.settle().await;
    let drain = Command::QueueDrain(QueueDrainParams::default());
    it.rig.call(&it.operator, drain).await.unwrap();
    it.rig.settle().await;
    let [first, second] = waiting;
    assert_eq!(page(first.await.unwrap()).messages.len(), 1);
    let second = page(second.await.unwrap());
    assert!(!second.timed_out && second.messages.is_empty());
    let ended = second.ended.unwrap();
    assert!(ended.contains("your operator took that back"), "{ended}");
}

#[tokio::test]
async fn what_expires_is_told_to_its_sender() {
    let mut it = Waiting::new(Rig::fresh_with_codex().await).await;
    it.rig.daemon.agents.codex.set_expiry(Some(60_000));
    let row = it.rig.daemon.deliveries.outbox.get(&it.handed);
    let waits_ms = row.unwrap().changed_ms;
    it.rig.tick_codex(waits_ms + 60_000);
    it.rig.settle().await;
    let mail = it.mail().await;
    assert_eq!(mail.len(), 1, "{mail:?}");
    assert!(mail[0].contains("Codex did not get it in time"), "{mail:?}");
}

#[tokio::test]
async fn the_operators_close_ends_a_wait_and_what_follows_tells_nothing_more() {
    let mut it = Waiting::new(Rig::fresh_with_codex().await).await;
    let (asked, handed) = (it.asked.clone(), it.handed.clone());
    for id in [&asked, &handed] {
        let operator = it.rig.connect(Role::Deck, None, true);
        let page = it.waits_while(id, &operator, close(id)).await;
        let [message] = &page.messages[..] else {
            panic!("{page:?}");
        };
        let text = &message.text;
        assert!(text.contains("Your operator closed your"), "{text}");
        assert!(text.contains("done in another branch"), "{text}");
        // The command goes on so.
        let remove = change_queue(id.clone(), QueueChange::Remove);
        drop(it.rig.ask(&operator, remove));
        it.rig.settle().await;
    }
    assert_eq!(told(&it.rig).len(), 2);
}

#[tokio::test]
async fn a_wait_for_what_an_agent_closes_ends_without_a_message() {
    let mut it = Waiting::new(Rig::fresh_with_codex().await).await;
    let (asked, handed) = (it.asked.clone(), it.handed.clone());
    let codex = it.rig.connect(Role::Codex, None, false);
    let settled = Command::AppendNote(NoteParams {
        handles: vec![handed.clone()],
        ..NoteParams::new(Agent::Codex, NoteKind::Done, "it was deleted already")
    });
    let by_codex = it.waits_while(&handed, &codex, settled).await.ended;
    let by_codex = by_codex.unwrap();
    assert!(by_codex.contains("Codex closed it"), "{by_codex}");
    let own = note(NoteKind::Note, "I know it now", vec![asked.clone()]);
    let other_call = it.rig.connect(Role::Claude, None, false);
    let by_itself = it.waits_while(&asked, &other_call, own).await.ended;
    assert!(by_itself.unwrap().contains("you closed it"));
    assert_eq!(told(&it.rig), []);
}

#[tokio::test]
async fn a_wait_ends_with_the_record_that_the_operator_clears() {
    let mut rig = Rig::fresh().await;
    let codex = rig.connect(Role::Codex, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    let ask = Command::Send(SendParams {
        from: Some(Agent::Codex),
        text: "tabs or spaces?".to_owned(),
        require_reply: true,
        ..SendParams::default()
    });
    let asked = rig.newest(&codex, ask).await;
    let wait = wait_messages(Agent::Codex, Some(asked), 50_000);
    let waiting = rig.ask(&codex, wait);
    rig.settle().await;
    let clear = Command::Clear(ClearParams::default());
    rig.call(&operator, clear).await.unwrap();
    rig.settle().await;
    let ended = page(waiting.await.unwrap()).ended.unwrap();
    assert!(
        ended.contains("your operator cleared the record"),
        "{ended}"
    );
    assert_eq!(told(&rig), []);
}

#[tokio::test]
async fn a_turn_of_codex_that_waits_gets_it_into_that_turn() {
    let mut rig = Rig::fresh_with_codex().await;
    let codex = rig.connect(Role::Codex, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    rig.status(ReportedStatus::Active { waiting: false });
    let ask = Command::Send(SendParams {
        from: Some(Agent::Codex),
        text: "tabs or spaces?".to_owned(),
        require_reply: true,
        ..SendParams::default()
    });
    let asked = rig.newest(&codex, ask).await;
    let wait = wait_messages(Agent::Codex, Some(asked.clone()), 50_000);
    let waiting = rig.ask(&codex, wait);
    rig.settle().await;
    let remove = change_queue(asked, QueueChange::Remove);
    rig.call(&operator, remove).await.unwrap();
    rig.settle().await;
    let page = page(waiting.await.unwrap());
    let [message] = &page.messages[..] else {
        panic!("{page:?}");
    };
    assert!(message.text.contains("before Claude had it"));
    // It begins no turn of its own.
    assert_eq!(rig.delivered_ids(), []);
}

#[tokio::test]
async fn a_sender_whose_call_says_that_nobody_gets_it_is_told_no_second_time() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let sending = rig.ask(&claude, question());
    rig.settle().await;
    let world = rig.world();
    let asked = world.open_questions.values().next().unwrap().id.clone();
    let remove = change_queue(asked, QueueChange::Remove);
    rig.call(&operator, remove).await.unwrap();
    rig.settle().await;
    assert!(matches!(sending.await.unwrap(), Ok(Reply::Sent(_))));
    let messages = rig.daemon.base.recorder.recent().iter();
    let messages = messages.filter(|it| matches!(it.entry.kind, EntryKind::Message(_)));
    assert_eq!(messages.count(), 2, "what Claude sent, and nothing else");
}

#[tokio::test]
async fn a_wait_goes_on_while_a_claude_that_closed_it_is_at_work_on_it() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let order = hand_off(Agent::Codex, "review it");
    let handed = rig.newest(&codex, order).await;
    let wait = wait_messages(Agent::Codex, Some(handed.clone()), 50_000);
    let mut waiting = rig.ask(&codex, wait);
    let get = Command::GetMessages(GetMessagesParams::of(Agent::Claude));
    rig.call(&claude, get).await.unwrap();
    let had = fetched(Agent::Claude, vec![handed.clone()]);
    rig.call(&claude, had).await.unwrap();
    let done = note(NoteKind::Done, "reviewed", vec![handed.clone()]);
    rig.call(&claude, done).await.unwrap();
    assert!(waiting.try_recv().is_err(), "its answer may yet come");
    let reply = Command::Send(SendParams {
        from: Some(Agent::Claude),
        text: "two races".to_owned(),
        in_reply_to: Some(handed),
        ..SendParams::default()
    });
    drop(rig.ask(&claude, reply));
    rig.settle().await;
    let page = page(waiting.try_recv().unwrap());
    let [message] = &page.messages[..] else {
        panic!("{page:?}");
    };
    assert!(message.text.contains("two races"), "{}", message.text);
}

#[tokio::test]
async fn a_wait_goes_on_in_the_turn_in_which_claude_acknowledges_it_and_closes_it() {
    const CLAUDE: u32 = 7_000_000;
    // What it was given may be on record as read behind the end of the turn.
    for (answers, acks) in [(true, true), (false, true), (false, false)] {
        let mut rig = Rig::fresh().await;
        let claude = rig.connect(Role::Claude, Some(CLAUDE), false);
        let hooks = rig.connect(Role::Hook, None, false);
        let codex = rig.connect(Role::Codex, None, false);
        let hook = |event: &str| {
            Command::Hook(HookParams {
                event: event.into(),
                claude_pid: Some(CLAUDE),
                ..HookParams::default()
            })
        };
        let order = hand_off(Agent::Codex, "review it");
        let handed = rig.newest(&codex, order).await;
        let wait = || wait_messages(Agent::Codex, Some(handed.clone()), 50_000);
        let mut waiting = rig.ask(&codex, wait());
        rig.call(&hooks, hook("UserPromptSubmit")).await.unwrap();
        let ids = vec![handed.clone()];
        let read = acks.then(|| acked(Agent::Claude, ids.clone()));
        let done = note(NoteKind::Done, "reviewed", ids.clone());
        for said in [Some(fetched(Agent::Claude, ids)), read, Some(done)] {
            let Some(said) = said else { continue };
            rig.call(&claude, said).await.unwrap();
        }
        assert_eq!(rig.world().unsettled.contains_key(&handed), !acks);
        assert!(waiting.try_recv().is_err(), "its answer may yet come");
        if answers {
            let reply = Command::Send(SendParams {
                from: Some(Agent::Claude),
                text: "two races".to_owned(),
                in_reply_to: Some(handed.clone()),
                ..SendParams::default()
            });
            drop(rig.ask(&claude, reply));
            rig.settle().await;
            let page = page(waiting.try_recv().unwrap());
            assert!(page.messages[0].text.contains("two races"), "{page:?}");
            continue;
        }
        // Once the turn is over, none does.
        rig.call(&hooks, hook("Stop")).await.unwrap();
        if !acks {
            let read = acked(Agent::Claude, vec![handed.clone()]);
            rig.call(&claude, read).await.unwrap();
        }
        rig.settle().await;
        let mut later = rig.ask(&codex, wait());
        rig.settle().await;
        for wait in [&mut waiting, &mut later] {
            let ended = page(wait.try_recv().unwrap()).ended.unwrap();
            assert!(ended.contains("Claude closed it"), "{ended}");
        }
    }
}

#[tokio::test]
async fn a_turn_of_claude_about_something_else_holds_up_no_wait_that_an_approval_ends() {
    const CLAUDE: u32 = 7_000_000;
    let mut rig = Rig::fresh().await;
    let claude = rig.connect(Role::Claude, Some(CLAUDE), false);
    let hooks = rig.connect(Role::Hook, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let hook = |event: &str| {
        Command::Hook(HookParams {
            event: event.into(),
            claude_pid: Some(CLAUDE),
            ..HookParams::default()
        })
    };
    let handed = rig.newest(&codex, hand_off(Agent::Codex, "review it"));
    let handed = handed.await;
    rig.call(&hooks, hook("UserPromptSubmit")).await.unwrap();
    for said in [
        fetched(Agent::Claude, vec![handed.clone()]),
        acked(Agent::Claude, vec![handed.clone()]),
    ] {
        rig.call(&claude, said).await.unwrap();
    }
    let proposal = proposed_as(&mut rig, &claude, "reviewed", vec![handed.clone()], None).await;
    for event in ["Stop", "UserPromptSubmit"] {
        rig.call(&hooks, hook(event)).await.unwrap();
    }
    let wait = wait_messages(Agent::Codex, Some(handed.clone()), 50_000);
    let mut waiting = rig.ask(&codex, wait);
    rig.settle().await;
    assert!(waiting.try_recv().is_err());
    let approved = approve(&mut rig, &proposal, None, None);
    rig.settle().await;
    approved.await.unwrap().unwrap();
    let ended = page(waiting.try_recv().unwrap()).ended.unwrap();
    assert!(ended.contains("your operator closed it"), "{ended}");
}

#[tokio::test]
async fn a_wait_goes_on_while_a_turn_runs_whose_proposal_is_approved() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let order = hand_off(Agent::Claude, "review it");
    let handed = begun(&mut rig, &claude, order, "turn-1").await;
    let wait = || wait_messages(Agent::Claude, Some(handed.clone()), 50_000);
    let mut waiting = rig.ask(&claude, wait());
    rig.propose(&codex, Agent::Codex, &handed).await;
    let proposal = rig.world().pending_proposals.keys().next().unwrap().clone();
    let approved = approve(&mut rig, &proposal, None, None);
    rig.settle().await;
    approved.await.unwrap().unwrap();
    assert!(!rig.world().open_handoffs.contains_key(&handed));
    // Neither does one end that begins only now.
    let mut later = rig.ask(&claude, wait());
    rig.settle().await;
    assert!(waiting.try_recv().is_err() && later.try_recv().is_err());
    rig.completed("turn-1", std::slice::from_ref(&handed), "two races");
    rig.settle().await;
    let page = page(waiting.try_recv().unwrap());
    let [message] = &page.messages[..] else {
        panic!("{page:?}");
    };
    assert!(message.text.contains("two races"), "{}", message.text);
}

#[tokio::test]
async fn a_wait_that_begins_after_the_end_hears_of_it_at_once() {
    let mut it = Waiting::new(Rig::fresh_with_codex().await).await;
    let (asked, handed) = (it.asked.clone(), it.handed.clone());
    let word = it.rig.send(&it.claude, Agent::Claude, OnBusy::Queue).await;
    for id in [&asked, &handed, &word] {
        let operator = it.rig.connect(Role::Deck, None, true);
        let remove = change_queue(id.clone(), QueueChange::Remove);
        it.rig.call(&operator, remove).await.unwrap();
    }
    let get = Command::GetMessages(GetMessagesParams::of(Agent::Claude));
    let mail = page(it.rig.call(&it.claude, get).await).messages;
    assert_eq!(mail.len(), 2, "{mail:?}");
    let mail: Vec<_> = mail.into_iter().map(|it| it.message_id).collect();
    for said in [
        fetched(Agent::Claude, mail.clone()),
        acked(Agent::Claude, mail),
    ] {
        it.rig.call(&it.claude, said).await.unwrap();
    }
    for id in [&asked, &handed] {
        let wait = wait_messages(Agent::Claude, Some(id.clone()), 50_000);
        let mut waiting = it.rig.ask(&it.claude, wait);
        it.rig.settle().await;
        let page = page(waiting.try_recv().expect("an end that is known"));
        let ended = page.ended.unwrap();
        let words = "your operator took that back before Codex had it";
        assert!(
            ended.contains(words) && ended.contains(id.as_str()),
            "{ended}"
        );
    }
    // Nobody was asked to answer it, so that nobody can know that no answer comes.
    let wait = wait_messages(Agent::Claude, Some(word), 50_000);
    let mut waiting = it.rig.ask(&it.claude, wait);
    it.rig.settle().await;
    assert!(waiting.try_recv().is_err());
}

#[tokio::test]
async fn a_wait_that_begins_after_a_note_hears_who_closed_it_unless_an_answer_is_to_come() {
    for answers in [false, true] {
        let mut rig = Rig::fresh_with_codex().await;
        let claude = rig.connect(Role::Claude, None, false);
        let codex = rig.connect(Role::Codex, None, false);
        let order = hand_off(Agent::Codex, "review it");
        let handed = rig.newest(&codex, order).await;
        for said in [
            Command::GetMessages(GetMessagesParams::of(Agent::Claude)),
            fetched(Agent::Claude, vec![handed.clone()]),
            acked(Agent::Claude, vec![handed.clone()]),
        ] {
            rig.call(&claude, said).await.unwrap();
        }
        let done = note(NoteKind::Done, "reviewed", vec![handed.clone()]);
        rig.call(&claude, done).await.unwrap();
        if answers {
            let reply = Command::Send(SendParams {
                from: Some(Agent::Claude),
                text: "two races".to_owned(),
                in_reply_to: Some(handed.clone()),
                ..SendParams::default()
            });
            drop(rig.ask(&claude, reply));
            rig.settle().await;
        }
        let wait = wait_messages(Agent::Codex, Some(handed), 50_000);
        let mut waiting = rig.ask(&codex, wait);
        rig.settle().await;
        let heard = waiting.try_recv();
        if answers {
            assert!(!matches!(heard, Ok(Ok(Reply::Messages(page))) if page.ended.is_some()));
        } else {
            let ended = page(heard.expect("an end that is known")).ended.unwrap();
            assert!(ended.contains("Claude closed it"), "{ended}");
        }
    }
}
