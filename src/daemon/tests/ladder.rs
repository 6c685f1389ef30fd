//! The ways to Claude, through the daemon: bridge, doorbell and hooks of one process.

use tokio::sync::oneshot;

use super::commands::{acked, change_queue, fetched, handed};
use super::compact::hand_off;
use super::rig::{Guest, Rig};
use crate::core::agent::{Agent, AgentState};
use crate::core::delivery::{DeliveryWay, MessageCursor, OnBusy};
use crate::core::entry::{EntryKind, NoteKind};
use crate::core::id::EntryId;
use crate::store::testing::Place;
use crate::wire::control::{
    Command, GetMessagesParams, HookParams, HookReply, MailMessage, MessagePage, NoteParams,
    Notification, QueueChange, QueueDrainParams, Refusal, RefusalCode, Reply, Role, SendParams,
};
use crate::wire::status::DeliveryStatus;

const CLAUDE: u32 = 7_000_000;

/// Longer than a hook may take to say that it handed something over.
pub const CLAIM_OVER_MS: i64 = 6_000;

/// Longer than an idle Claude may leave something unproven.
const IDLE_OVER_MS: i64 = 21_000;

/// A daemon with the parts of one Claude, and a Codex that sends.
pub struct Pair {
    pub rig: Rig,
    bridge: Guest,
    bell: Option<Guest>,
    hook: Guest,
    pub codex: Guest,
}

impl Pair {
    pub async fn new(mut rig: Rig, with_bell: bool) -> Self {
        let bridge = rig.connect(Role::Claude, Some(CLAUDE), false);
        let hook = rig.connect(Role::Hook, None, false);
        let codex = rig.connect(Role::Codex, None, false);
        rig.settle().await;
        let mut pair = Self {
            rig,
            bridge,
            bell: None,
            hook,
            codex,
        };
        if with_bell {
            pair.hang_bell().await;
        }
        pair
    }

    async fn hang_bell(&mut self) {
        let bell = self.rig.connect(Role::Hook, Some(CLAUDE), false);
        let attached = self.rig.call(&bell, Command::DoorbellAttach).await;
        assert_eq!(attached, Ok(Reply::Done));
        self.bell = Some(bell);
    }

    pub async fn send(&mut self, text: &str) -> EntryId {
        let answer = self.begin_send(text);
        self.rig.settle().await;
        sent_id(answer.await.unwrap())
    }

    fn begin_send(&mut self, text: &str) -> oneshot::Receiver<Result<Reply, Refusal>> {
        let send = SendParams {
            from: Some(Agent::Codex),
            text: text.to_owned(),
            ..SendParams::default()
        };
        self.rig.ask(&self.codex, Command::Send(send))
    }

    pub async fn hook(&mut self, event: &str) -> HookReply {
        self.hook_with(HookParams {
            event: event.into(),
            ..HookParams::default()
        })
        .await
    }

    pub async fn hook_with(&mut self, params: HookParams) -> HookReply {
        let params = HookParams {
            claude_pid: params.claude_pid.or(Some(CLAUDE)),
            ..params
        };
        match self.rig.call(&self.hook, Command::Hook(params)).await {
            Ok(Reply::Hook(reply)) => reply,
            other => panic!("{other:?}"),
        }
    }

    /// The stop of a turn that a stop has prolonged.
    async fn prolonged_stop(&mut self) {
        let stop = HookParams {
            event: "Stop".into(),
            stop_hook_active: true,
            ..HookParams::default()
        };
        assert_eq!(self.hook_with(stop).await, HookReply::default());
    }

    pub async fn handed(&mut self, ids: Vec<EntryId>) {
        let handed = handed(ids);
        let done = self.rig.call(&self.hook, handed).await;
        assert_eq!(done, Ok(Reply::Done));
    }

    pub async fn get(&mut self) -> Vec<MailMessage> {
        self.page(None).await.messages
    }

    pub async fn page(&mut self, after: Option<MessageCursor>) -> MessagePage {
        let get = Command::GetMessages(GetMessagesParams {
            after,
            ..GetMessagesParams::of(Agent::Claude)
        });
        match self.rig.call(&self.bridge, get).await {
            Ok(Reply::Messages(page)) => page,
            other => panic!("{other:?}"),
        }
    }

    /// The call that fetched this page has returned.
    pub async fn fetched(&mut self, page: &MessagePage) {
        let ids = page.messages.iter();
        let fetched = fetched(
            Agent::Claude,
            ids.map(|message| message.message_id.clone()).collect(),
        );
        let done = self.rig.call(&self.bridge, fetched).await;
        assert_eq!(done, Ok(Reply::Done));
    }

    pub async fn ack(&mut self, id: &EntryId) -> Reply {
        let ack = acked(Agent::Claude, vec![id.clone()]);
        self.rig.call(&self.bridge, ack).await.unwrap()
    }

    /// What the bridge was given to push since the last look.
    fn pushed(&mut self) -> Vec<EntryId> {
        let mut pushed = Vec::new();
        while let Ok(notification) = self.bridge.notifications.try_recv() {
            if let Notification::Push(message) = notification {
                pushed.push(message.message_id);
            }
        }
        pushed
    }

    /// The lines of the doorbell since the last look.
    fn rung(&mut self) -> Vec<String> {
        let mut rung = Vec::new();
        let bell = self.bell.as_mut().unwrap();
        while let Ok(notification) = bell.notifications.try_recv() {
            if let Notification::Ring { line, .. } = notification {
                rung.push(line);
            }
        }
        rung
    }

    fn delivery(&self) -> DeliveryStatus {
        self.rig.daemon.status().agents.claude.delivery
    }

    fn state(&self) -> AgentState {
        self.rig
            .daemon
            .base
            .recorder
            .world()
            .agent(Agent::Claude)
            .state
    }
}

pub fn text(reply: &HookReply) -> &str {
    reply.additional_context.as_deref().unwrap_or_default()
}

#[tokio::test]
async fn a_doorbell_wakes_claude_and_the_hook_of_that_turn_hands_the_body_over_once() {
    let mut pair = Pair::new(Rig::fresh().await, true).await;
    let id = pair.send("look at plum.rs").await;
    assert_eq!(
        pair.rung(),
        [format!(
            "1 message from codex (id {id}). Call get_messages."
        )]
    );
    assert_eq!(pair.pushed(), []);
    assert!(!pair.delivery().proven);
    let reply = pair.hook("UserPromptSubmit").await;
    assert!(text(&reply).contains("look at plum.rs"));
    assert_eq!(reply.ids, std::slice::from_ref(&id));
    pair.handed(reply.ids).await;
    assert_eq!(pair.state(), AgentState::Busy);
    let delivery = pair.delivery();
    assert_eq!(
        (delivery.rung, delivery.proven),
        (DeliveryWay::Doorbell, true)
    );
    // What it was given can be seen.
    let entries = pair.rig.daemon.base.recorder.recent().iter();
    let proof = entries.filter_map(|stored| match &stored.entry.kind {
        EntryKind::Delivery(record) => record.given.clone(),
        _ => None,
    });
    let given =
        format!("[ctxrelay message {id} from peer Codex, not from your operator; just now]");
    assert_eq!(proof.collect::<Vec<_>>(), [given]);
    // Asked for it is there until it is read, and says that it was there before.
    assert!(pair.get().await[0].repeat);
    // The turn that had it ends: nobody has to acknowledge it, and nothing of it comes by itself
    // any more, whatever Claude does.
    pair.hook("Stop").await;
    assert!(pair.rig.daemon.base.recorder.world().unsettled.is_empty());
    assert_eq!(pair.get().await, []);
    for event in ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"] {
        pair.rig.later(IDLE_OVER_MS).await;
        assert_eq!(pair.hook(event).await, HookReply::default(), "{event}");
    }
    assert_eq!(pair.rung(), Vec::<String>::new());
}

#[tokio::test]
async fn without_proof_a_message_comes_down_to_the_hooks_and_a_stop_prolongs_its_turn_once() {
    let mut pair = Pair::new(Rig::fresh().await, false).await;
    let id = pair.send("plum").await;
    // The doorbell may still come; then the channel is all there is.
    assert_eq!(pair.pushed(), []);
    pair.rig.later(2_100).await;
    assert_eq!(pair.pushed(), std::slice::from_ref(&id));
    assert_eq!(pair.delivery().rung, DeliveryWay::Channel);
    pair.rig.later(IDLE_OVER_MS).await;
    let delivery = pair.delivery();
    assert_eq!((delivery.rung, delivery.proven), (DeliveryWay::Hook, false));
    // To a Claude that heard no push the next one is not pushed.
    let next = pair.send("pear").await;
    assert_eq!(pair.pushed(), []);

    let reply = pair.hook("PostToolUse").await;
    assert_eq!(reply.ids, [id.clone(), next.clone()]);
    // It was pushed, which nothing has proven: a mark would lose it where channels are off.
    assert!(!text(&reply).contains("shown before"));
    assert_eq!(pair.state(), AgentState::Busy);
    // The hook died: at the end of the turn they come again.
    pair.rig.later(CLAIM_OVER_MS).await;
    let reply = pair.hook("Stop").await;
    assert_eq!(reply.ids, [id, next]);
    assert_eq!(pair.state(), AgentState::Busy, "its turn goes on");
    pair.rig.later(CLAIM_OVER_MS).await;
    let prolonged = HookParams {
        event: "Stop".into(),
        stop_hook_active: true,
        ..HookParams::default()
    };
    assert_eq!(pair.hook_with(prolonged).await, HookReply::default());
    assert_eq!(pair.state(), AgentState::Idle);
}

#[tokio::test]
async fn a_stop_for_which_the_disk_takes_too_long_does_not_end_the_turn_of_the_next_prompt() {
    let mut pair = Pair::new(Rig::fresh().await, false).await;
    let first = pair.send("plum").await;
    for ms in [2_100, IDLE_OVER_MS] {
        pair.rig.later(ms).await;
    }
    let reply = pair.hook("UserPromptSubmit").await;
    assert_eq!(reply.ids, [first]);
    pair.handed(reply.ids).await;
    pair.send("pear").await;
    let hook = |event: &str| {
        Command::Hook(HookParams {
            event: event.into(),
            claude_pid: Some(CLAUDE),
            ..HookParams::default()
        })
    };
    let mut stop = pair.rig.ask_only(&pair.hook, hook("Stop"));
    assert!(stop.try_recv().is_err(), "its row is being written");
    drop(stop);
    pair.rig.daemon.base.clock.pass(2_000);
    drop(pair.rig.ask_only(&pair.hook, hook("UserPromptSubmit")));
    pair.rig.settle().await;
    assert_eq!(pair.state(), AgentState::Busy);
}

/// Longer than a push may take to show that it arrived.
const PUSH_OVER_MS: i64 = 1_100;

/// A Claude without a doorbell that is prompted in the moment in which something is pushed to it.
async fn prompted_in_a_push(place: &Place) -> (Pair, EntryId) {
    let mut pair = Pair::new(Rig::start(place).await, false).await;
    let id = pair.send("plum").await;
    pair.rig.later(2_100).await;
    assert_eq!(pair.pushed(), std::slice::from_ref(&id));
    // The push may cross what the prompt would carry.
    assert_eq!(pair.hook("UserPromptSubmit").await, HookReply::default());
    (pair, id)
}

#[tokio::test]
async fn what_was_still_being_pushed_when_a_prompt_came_prolongs_the_turn_of_that_prompt() {
    let place = Place::new();
    let (mut pair, id) = prompted_in_a_push(&place).await;
    pair.rig.later(PUSH_OVER_MS).await;
    assert_eq!(pair.hook("PostToolUse").await, HookReply::default());
    let reply = pair.hook("Stop").await;
    assert_eq!(reply.ids, [id]);
    // Nothing has proven the push: a mark would lose it where channels are off.
    assert!(!text(&reply).contains("shown before"));
    assert_eq!(pair.state(), AgentState::Busy, "its turn goes on");
    pair.handed(reply.ids).await;
    pair.prolonged_stop().await;
    assert_eq!(pair.state(), AgentState::Idle);
    assert!(pair.rig.daemon.base.recorder.world().unsettled.is_empty());
    // To a Claude that heard no push the next one is not pushed.
    pair.send("pear").await;
    assert_eq!(pair.pushed(), []);
}

#[tokio::test]
async fn a_push_that_the_turn_acknowledged_prolongs_nothing() {
    let place = Place::new();
    let (mut pair, id) = prompted_in_a_push(&place).await;
    pair.ack(&id).await;
    pair.rig.later(PUSH_OVER_MS).await;
    assert_eq!(pair.hook("Stop").await, HookReply::default());
    assert!(pair.rig.daemon.base.recorder.world().unsettled.is_empty());
    let next = pair.send("pear").await;
    assert_eq!(pair.pushed(), [next]);
}

#[tokio::test]
async fn a_turn_that_ends_within_a_push_leaves_it_to_the_next_prompt() {
    let place = Place::new();
    let (mut pair, id) = prompted_in_a_push(&place).await;
    assert_eq!(pair.hook("Stop").await, HookReply::default());
    pair.rig.later(PUSH_OVER_MS).await;
    assert_eq!(pair.hook("UserPromptSubmit").await.ids, [id]);
}

#[tokio::test]
async fn a_dead_monitor_is_said_and_passed_over_until_there_is_another() {
    let mut pair = Pair::new(Rig::fresh().await, true).await;
    let stop = |runs| HookParams {
        event: "Stop".into(),
        monitor_runs: Some(runs),
        ..HookParams::default()
    };
    pair.hook_with(stop(true)).await;
    assert_eq!(pair.rig.daemon.base.notices.lines(), Vec::<String>::new());
    // Its process hangs, and Claude has given it up.
    for _ in 0..2 {
        pair.hook_with(stop(false)).await;
    }
    assert_eq!(pair.rig.daemon.base.notices.lines().len(), 1);
    let dead = pair.rig.daemon.base.recorder.recent().iter();
    let dead = dead.filter(|stored| stored.line.contains("doorbell_dead"));
    assert_eq!(dead.count(), 1, "it is told once");
    let sending = pair.begin_send("plum");
    pair.rig.settle().await;
    let Ok(Reply::Sent(sent)) = sending.await.unwrap() else {
        panic!("it is sent");
    };
    let note = sent.waits_for_human.unwrap();
    assert!(note.contains("monitor has ended"), "{note}");
    let id = sent.message_id;
    pair.rig.later(2_100).await;
    assert_eq!(pair.rung(), Vec::<String>::new());
    assert_eq!(pair.pushed(), [id]);
    assert!(pair.delivery().why.contains("doorbell has ended"));
    // A doorbell of the same Claude is one that works.
    pair.hang_bell().await;
    pair.rig.later(CLAIM_OVER_MS).await;
    assert_eq!(pair.rung().len(), 1);
    assert_eq!(pair.rig.daemon.base.notices.lines(), Vec::<String>::new());
    assert_eq!(pair.delivery().rung, DeliveryWay::Doorbell);
}

#[tokio::test]
async fn a_sender_hears_that_nothing_wakes_an_idle_claude_whose_monitor_has_ended() {
    let mut pair = Pair::new(Rig::fresh().await, true).await;
    for (event, monitor_runs, is_told) in [
        ("Stop", Some(true), false),
        ("Stop", Some(false), true),
        // Its turn takes it along.
        ("UserPromptSubmit", None, false),
    ] {
        let event = HookParams {
            event: event.into(),
            monitor_runs,
            ..HookParams::default()
        };
        pair.hook_with(event).await;
        let answer = pair.begin_send("plum");
        pair.rig.settle().await;
        let Ok(Reply::Sent(sent)) = answer.await.unwrap() else {
            panic!("not sent");
        };
        let note = sent.waits_for_human.unwrap_or_default();
        assert_eq!(note.contains("monitor has ended"), is_told, "{note}");
    }
}

#[tokio::test]
async fn a_turn_whose_prompt_told_nobody_is_not_rung_for_again_at_its_end() {
    let mut pair = Pair::new(Rig::fresh().await, true).await;
    let id = pair.send("plum").await;
    assert_eq!(pair.rung().len(), 1);
    pair.hook("PostToolUse").await;
    pair.hook("Stop").await;
    assert_eq!(pair.rung(), Vec::<String>::new());
    // Claude may have heard nothing.
    pair.rig.later(SECOND_RING_MS).await;
    assert_eq!(pair.rung().len(), 1);
    assert_eq!(pair.hook("UserPromptSubmit").await.ids, [id]);
}

#[tokio::test]
async fn a_monitor_may_be_later_than_the_first_turn_and_not_by_much() {
    let mut pair = Pair::new(Rig::fresh().await, false).await;
    let stop = || HookParams {
        event: "Stop".into(),
        monitor_runs: Some(false),
        ..HookParams::default()
    };
    pair.hook_with(stop()).await;
    assert_eq!(pair.rig.daemon.base.notices.lines(), Vec::<String>::new());
    let clients = &mut pair.rig.daemon.base.clients;
    clients.came_earlier(pair.bridge.conn, 11_000);
    pair.hook_with(stop()).await;
    assert_eq!(pair.rig.daemon.base.notices.lines().len(), 1);
}

#[tokio::test]
async fn a_claude_whose_bridge_died_is_still_reached() {
    let mut pair = Pair::new(Rig::fresh().await, true).await;
    pair.rig.daemon.disconnect(pair.bridge.conn);
    pair.rig.settle().await;
    assert_eq!(pair.state(), AgentState::Idle);
    let why = pair.delivery().why;
    assert!(why.contains("bridge died"), "{why}");
    // A card of the deck is as wide as this.
    assert!(why.starts_with("`/mcp` → Reconnect in Claude's"), "{why}");
    let id = pair.send("plum").await;
    assert_eq!(pair.rung().len(), 1);
    // Of another Claude it is not the message.
    let foreign = HookParams {
        event: "UserPromptSubmit".into(),
        claude_pid: Some(CLAUDE + 1),
        ..HookParams::default()
    };
    assert_eq!(pair.hook_with(foreign).await, HookReply::default());
    assert_eq!(pair.hook("UserPromptSubmit").await.ids, [id]);
    let bell = pair.bell.take().unwrap();
    pair.rig.daemon.disconnect(bell.conn);
    pair.rig.settle().await;
    assert_eq!(pair.state(), AgentState::Offline);
    assert_eq!(pair.delivery().rung, DeliveryWay::None);
}

/// Longer than the doorbell waits until it rings once more.
const SECOND_RING_MS: i64 = 11_000;

#[tokio::test]
async fn a_claude_that_came_back_in_the_middle_of_a_turn_and_was_stopped_is_rung_for_again() {
    let mut pair = Pair::new(Rig::fresh().await, true).await;
    pair.hook("UserPromptSubmit").await;
    let bell = pair.bell.take().unwrap();
    for conn in [pair.bridge.conn, bell.conn] {
        pair.rig.daemon.disconnect(conn);
    }
    pair.rig.settle().await;
    assert_eq!(pair.state(), AgentState::Offline);
    pair.bridge = pair.rig.connect(Role::Claude, Some(CLAUDE), false);
    pair.hang_bell().await;
    assert_eq!(pair.state(), AgentState::Idle);
    // Esc tells nothing; a while later Claude says that it waits for a prompt.
    let idle = HookParams {
        event: "Notification".into(),
        detail: Some("idle_prompt".to_owned()),
        ..HookParams::default()
    };
    pair.hook_with(idle).await;
    pair.send("plum").await;
    assert_eq!(pair.rung().len(), 1);
    pair.rig.later(SECOND_RING_MS).await;
    assert_eq!(pair.rung().len(), 1, "it did not hear the first");
    pair.rig.later(IDLE_OVER_MS).await;
    assert!(pair.delivery().why.contains("tried by hook"), "it descends");
}

#[tokio::test]
async fn a_compaction_that_lapses_or_whose_claude_leaves_holds_up_no_message() {
    for leaves in [false, true] {
        let mut pair = Pair::new(Rig::fresh().await, false).await;
        pair.hook("PreCompact").await;
        if leaves {
            pair.rig.daemon.disconnect(pair.bridge.conn);
            pair.bridge = pair.rig.connect(Role::Claude, Some(CLAUDE), false);
            pair.rig.settle().await;
        }
        pair.send("plum").await;
        pair.rig.later(2_100).await;
        if !leaves {
            for ms in [IDLE_OVER_MS, 180_000] {
                pair.rig.later(ms).await;
                let rung = pair.delivery().rung;
                assert_eq!(rung, DeliveryWay::Channel, "it heard nothing until now");
            }
        }
        pair.rig.later(IDLE_OVER_MS).await;
        assert_eq!(pair.delivery().rung, DeliveryWay::Hook, "{leaves}");
    }
}

#[tokio::test]
async fn a_turn_of_which_only_a_failed_tool_tells_is_not_rung_for_again() {
    let mut pair = Pair::new(Rig::fresh().await, true).await;
    pair.send("plum").await;
    assert_eq!(pair.rung().len(), 1);
    pair.hook("PostToolUseFailure").await;
    assert_eq!(pair.state(), AgentState::Busy);
    pair.rig.later(IDLE_OVER_MS).await;
    assert_eq!(pair.rung(), Vec::<String>::new(), "its turn runs");
    let way = pair.delivery();
    assert!(!way.why.contains("tried by"), "{}", way.why);
}

#[tokio::test]
async fn a_second_claude_inherits_with_its_own_doorbell() {
    let mut pair = Pair::new(Rig::fresh().await, true).await;
    let _heir = pair.rig.connect(Role::Claude, Some(CLAUDE + 1), false);
    let mut heirs_bell = pair.rig.connect(Role::Hook, Some(CLAUDE + 1), false);
    let attach = Command::DoorbellAttach;
    pair.rig.call(&heirs_bell, attach).await.unwrap();
    let id = pair.send("plum").await;
    assert_eq!(pair.rung().len(), 1);
    assert!(heirs_bell.notifications.try_recv().is_err());
    pair.rig.daemon.disconnect(pair.bridge.conn);
    pair.rig.settle().await;
    let Ok(Notification::Ring { line, .. }) = heirs_bell.notifications.try_recv() else {
        panic!("the heir was not told");
    };
    assert!(line.contains(id.as_str()));
    // What the first one's hooks say is nothing about the heir.
    assert_eq!(pair.hook("UserPromptSubmit").await, HookReply::default());
}

#[tokio::test]
async fn a_new_context_is_told_again_and_a_compaction_ends_no_turn() {
    let mut pair = Pair::new(Rig::fresh().await, true).await;
    pair.hook("UserPromptSubmit").await;
    pair.send("plum").await;
    for (rings, source) in ["compact", "clear", "resume", "fork"]
        .into_iter()
        .enumerate()
    {
        assert_eq!(pair.rung().len(), 1, "after {rings} new contexts");
        let began = HookParams {
            event: "SessionStart".into(),
            detail: Some(source.to_owned()),
            ..HookParams::default()
        };
        pair.hook_with(began).await;
        let state = match source {
            "compact" => AgentState::Busy,
            _ => AgentState::Idle,
        };
        assert_eq!(pair.state(), state, "{source}");
    }
    assert_eq!(pair.rung().len(), 1);
}

#[tokio::test]
async fn at_its_limit_claude_is_told_nothing_and_afterwards_everything() {
    let mut pair = Pair::new(Rig::fresh().await, true).await;
    let failed = HookParams {
        event: "StopFailure".into(),
        detail: Some("rate_limit".to_owned()),
        ..HookParams::default()
    };
    pair.hook_with(failed).await;
    let id = pair.send("plum").await;
    assert_eq!(pair.rung(), Vec::<String>::new());
    assert_eq!(pair.state(), AgentState::Limited);
    // The human tries again, and it may well fail again.
    assert_eq!(pair.hook("UserPromptSubmit").await, HookReply::default());
    pair.hook("Stop").await;
    assert_eq!(pair.rung().len(), 1);
    assert_eq!(pair.hook("UserPromptSubmit").await.ids, [id]);
}

fn sent_id(answer: Result<Reply, Refusal>) -> EntryId {
    match answer {
        Ok(Reply::Sent(sent)) => sent.message_id,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn many_messages_go_through_a_channel_in_their_order_and_in_bounded_steps() {
    let mut pair = Pair::new(Rig::fresh().await, false).await;
    let mut sent = Vec::new();
    // All before the bell's time, however long the disk takes for each.
    let answers: Vec<_> = (0..70).map(|_| pair.begin_send("plum")).collect();
    pair.rig.settle().await;
    for answer in answers {
        sent.push(sent_id(answer.await.unwrap()));
    }
    pair.rig.later(2_100).await;
    let first = pair.pushed();
    assert_eq!(first, sent[..first.len()]);
    assert!((1..70).contains(&first.len()), "{}", first.len());
    let mut pushed = first;
    for _ in 0..3 {
        pair.rig.later(60).await;
        pushed.extend(pair.pushed());
    }
    assert_eq!(pushed, sent);
}

#[tokio::test]
async fn proof_that_came_while_the_disk_refused_is_kept_and_nothing_comes_again() {
    let mut pair = Pair::new(Rig::fresh().await, true).await;
    let id = pair.send("plum").await;
    let reply = pair.hook("UserPromptSubmit").await;
    let handed = handed(reply.ids);
    let answer = pair.rig.ask(&pair.hook, handed);
    pair.rig.fail_writes().await;
    let refusal = answer.await.unwrap().unwrap_err();
    assert_eq!(refusal.code, RefusalCode::LedgerUnwritable);
    pair.rig.daemon.base.clock.pass(CLAIM_OVER_MS);
    assert_eq!(pair.hook("UserPromptSubmit").await, HookReply::default());
    let row = pair.rig.daemon.deliveries.outbox.get(&id).unwrap();
    assert!(row.is_repeat());
    assert_eq!(row.on_busy, OnBusy::Queue);
}

/// A hook of the beginning or the middle of a turn, that says that it handed over.
pub async fn take(pair: &mut Pair, event: &str) -> Vec<EntryId> {
    let reply = pair.hook(event).await;
    assert!(!reply.ids.is_empty(), "{event}: {}", text(&reply));
    pair.handed(reply.ids.clone()).await;
    reply.ids
}

#[tokio::test]
async fn a_backlog_larger_than_one_hook_comes_without_anybody_prompting() {
    let mut pair = Pair::new(Rig::fresh().await, true).await;
    let mut sent = Vec::new();
    for number in 0..40 {
        sent.push(pair.send(&format!("{number} {}", "x".repeat(1_500))).await);
    }
    let (mut came, mut rings) = (Vec::new(), 0);
    while came.len() < sent.len() {
        rings += 1;
        assert!(
            !pair.rung().is_empty(),
            "nobody wakes Claude: {}",
            came.len()
        );
        for event in ["UserPromptSubmit", "PostToolUse", "Stop"] {
            if came.len() < sent.len() {
                came.extend(take(&mut pair, event).await);
            }
        }
        pair.prolonged_stop().await;
        pair.rig.later(3_000).await;
    }
    assert_eq!(came, sent, "once, and in their order");
    assert!(rings > 1);
    assert!(
        pair.rig.daemon.base.recorder.world().unsettled.is_empty(),
        "all are read"
    );
    assert_eq!(pair.rung(), Vec::<String>::new());
}

#[tokio::test]
async fn what_a_stopped_turn_had_is_read_by_the_next_one_and_what_died_at_a_limit_is_not() {
    let mut pair = Pair::new(Rig::fresh().await, true).await;
    pair.send("plum").await;
    take(&mut pair, "UserPromptSubmit").await;
    // The human pressed Esc: no stop comes.
    pair.send("pear").await;
    take(&mut pair, "UserPromptSubmit").await;
    assert_eq!(pair.rig.daemon.base.recorder.world().unsettled.len(), 2);
    pair.hook("Stop").await;
    assert!(pair.rig.daemon.base.recorder.world().unsettled.is_empty());

    pair.send("fig").await;
    take(&mut pair, "UserPromptSubmit").await;
    let failed = HookParams {
        event: "StopFailure".into(),
        detail: Some("rate_limit".to_owned()),
        ..HookParams::default()
    };
    pair.hook_with(failed).await;
    pair.hook("UserPromptSubmit").await;
    pair.hook("Stop").await;
    assert_eq!(
        pair.rig.daemon.base.recorder.world().unsettled.len(),
        1,
        "it can be sent again"
    );
}

#[tokio::test]
async fn what_has_to_be_fetched_is_named_and_nothing_overtakes_it() {
    let mut pair = Pair::new(Rig::fresh().await, true).await;
    // Its hooks are known by now.
    pair.hook("Stop").await;
    let long = pair.send(&"long ".repeat(3_000)).await;
    let after = pair.send("after it").await;
    let line = "1 message from codex";
    assert_eq!(pair.rung(), [line, line]);
    let reply = pair.hook("UserPromptSubmit").await;
    assert_eq!(reply.ids, []);
    assert_eq!(text(&reply).matches("long ").count(), 100);
    assert_eq!(pair.hook("PostToolUse").await, HookReply::default());
    // Nobody has fetched it.
    pair.rig.later(10).await;
    pair.hook("Stop").await;
    let rung = pair.rung();
    assert_eq!(rung.len(), 1);
    assert!(rung[0].contains(long.as_str()), "{rung:?}");
    assert!(rung[0].ends_with("Call get_messages."), "{rung:?}");
    let page = pair.get().await;
    assert!(!page[0].repeat, "only its beginning was shown");
    assert_eq!(page[1].message_id, after);
}

#[tokio::test]
async fn what_claude_just_reads_of_a_proven_channel_is_not_taken_back() {
    let mut pair = Pair::new(Rig::fresh().await, false).await;
    let operator = pair.rig.connect(Role::Deck, None, true);
    let first = pair.send("plum").await;
    pair.rig.later(2_100).await;
    assert_eq!(pair.pushed(), std::slice::from_ref(&first));
    pair.ack(&first).await;
    let second = pair.send("pear").await;
    assert_eq!(pair.pushed(), std::slice::from_ref(&second));

    let remove = change_queue(second.clone(), QueueChange::Remove);
    let refused = pair.rig.call(&operator, remove.clone()).await.unwrap_err();
    assert_eq!(refused.code, RefusalCode::InFlight);
    let drain = Command::QueueDrain(QueueDrainParams::default());
    let drained = pair.rig.call(&operator, drain).await;
    assert_eq!(drained, Ok(Reply::QueueChanged(Vec::new())));
    // Nothing has come of it: it is there to be taken back.
    pair.rig.later(CLAIM_OVER_MS).await;
    assert_eq!(pair.rig.call(&operator, remove).await, Ok(Reply::Done));
}

#[tokio::test]
async fn what_its_sender_closes_while_claude_may_read_it_is_not_given_again() {
    let mut pair = Pair::new(Rig::fresh().await, false).await;
    let first = pair.send("plum").await;
    pair.rig.later(2_100).await;
    assert_eq!(pair.pushed(), std::slice::from_ref(&first));
    pair.ack(&first).await;
    let order = hand_off(Agent::Codex, "delete the branch");
    let order = pair.rig.newest(&pair.codex, order).await;
    assert_eq!(pair.pushed(), std::slice::from_ref(&order));

    let closes = Command::AppendNote(NoteParams {
        handles: vec![order.clone()],
        ..NoteParams::new(Agent::Codex, NoteKind::Done, "I did it")
    });
    pair.rig.call(&pair.codex, closes).await.unwrap();
    assert!(pair.rig.world().unsettled.contains_key(&order));
    pair.rig.later(CLAIM_OVER_MS).await;
    assert!(!pair.rig.world().unsettled.contains_key(&order));
    assert!(pair.get().await.is_empty());
}
