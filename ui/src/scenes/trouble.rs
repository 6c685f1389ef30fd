//! Worlds in which something is wrong.

use std::sync::Arc;

use super::agents::minutes;
use super::pieces::{NOW_MS, ago, gates};
use super::worlds::pair_at_work;
use crate::model::{
    Agent, AgentCard, AgentState, Banner, Chain, ContextUse, DeckView, GateState, HeaderLedger,
    InboxCard, InboxKind, Level, NamedEntry, OutcomeState, Party, QueueCounts, RowOutcome, Silence,
    SilenceLevel, UnclearMessage, UsageLimit,
};
use crate::msg::Msg;

/// The banner, and its row.
const BROKEN: &str = "entry 871 does not follow from 870: the file was changed by another program. \
                      `ctxrelay ledger verify` says where.";

/// Messages to Claude of which nobody can know whether they arrived.
fn ambiguous() -> InboxCard {
    let words = [
        "Two issues: refresh is not single-flight, and the old token is kept after rotation.",
        "cargo test -p auth is green now, 118 passed",
        "Please look at src/token.rs:41 before you go on\u{1b}[2J",
        "The lock is held across an await: is that wanted?",
    ];
    let message = |(words, n): (&str, u64)| UnclearMessage {
        id: format!("m-04b{n}"),
        line: 1_190 + n,
        at_ms: ago(300 - 60 * n as i64),
        from: Party::Agent(Agent::Codex),
        words: (n < 4).then(|| words.to_owned()),
    };
    let unclear: Arc<[UnclearMessage]> = words.into_iter().zip(1..).map(message).collect();
    InboxCard {
        unclear,
        ..InboxCard::new(
            InboxKind::Alarm,
            "ambiguous-claude",
            Agent::Claude,
            ago(240),
            "4 ambiguous to Claude: \u{201c}Two issues: refresh is not single-flight, and\u{201d}",
        )
    }
}

/// The daemon is there and does not answer.
pub(super) fn unanswered() -> Msg {
    Msg::Unanswered(Some(ago(4)))
}

/// Things that need a look.
pub fn trouble() -> DeckView {
    let mut view = pair_at_work();
    view.agents[0] = AgentCard {
        since_ms: Some(ago(14)),
        hint: Some("started, not connected yet: look for its trust question".to_owned()),
        queue: QueueCounts {
            pending: 2,
            in_flight: 0,
            ambiguous: 1,
        },
        ..AgentCard::offline(Agent::Claude)
    };
    view.agents[1].state = AgentState::Limited;
    view.agents[1].limit = Some(UsageLimit {
        resets_ms: Some(NOW_MS + 9_450_000),
        try_ms: None,
        tries: 0,
        tries_max: 6,
        again: 0,
        is_cancelled: false,
    });
    view.agents[1].tool = None;
    view.ledger = HeaderLedger {
        entries: 1_204,
        chain: Chain::Broken { seq: 871 },
        bad_lines: 2,
    };
    view.banner = Some(Banner {
        level: Level::Error,
        text: BROKEN.to_owned(),
    });
    view.inbox[0].tree_still_same = Some(false);
    view.inbox[0].blockers = vec![NamedEntry {
        text: "handoff h1201 is open".to_owned(),
        line: Some(1_201),
    }];
    view.inbox[0].gates = gates();
    view.inbox[0].gates[0].state = GateState::Failed;
    view.inbox.push(ambiguous());
    view.inbox.push(InboxCard {
        steps: vec![
            "See where: the command names the first entry that is not as it was written."
                .to_owned(),
            "Put the file back as it was; or seal the record and begin a new one with \
             `ctxrelay ledger clear`."
                .to_owned(),
        ],
        command: Some("ctxrelay ledger verify".to_owned()),
        ..InboxCard::new(InboxKind::Trouble, "state-chain", Party::System, 0, BROKEN)
    });
    let limited = "Codex is at its usage limit";
    view.inbox.push(InboxCard::new(
        InboxKind::Limited,
        "limit-codex",
        Agent::Codex,
        ago(600),
        limited,
    ));
    view.inbox.push(InboxCard::new(
        InboxKind::Setup,
        "state-codex",
        Party::System,
        0,
        "Codex is not installed: npm install -g @openai/codex",
    ));
    view.inbox.push(InboxCard::new(
        InboxKind::Notice,
        "state-bad-lines",
        Party::System,
        0,
        "2 lines of the record cannot be read, and are left out of what is shown",
    ));
    let last = view.timeline.len() - 1;
    view.timeline[last].outcome = Some(RowOutcome {
        state: OutcomeState::Attention,
        text: "nobody can know whether Claude has it".to_owned(),
        since_ms: None,
        took_ms: None,
    });
    view
}

/// The proposal of the pair at work is taken back by who made it.
pub(super) fn taken_back() -> Msg {
    let mut view = pair_at_work();
    view.inbox.retain(|card| card.kind != InboxKind::Finality);
    Msg::View(Box::new(view))
}

/// As [`held_up`], by a limit of a week.
pub(super) fn held_up_for_days() -> DeckView {
    const DAYS_MS: i64 = 3 * 86_400_000;
    let mut view = held_up();
    if let Some(limit) = &mut view.agents[0].limit {
        limit.resets_ms = limit.resets_ms.map(|at_ms| at_ms + DAYS_MS);
        limit.try_ms = limit.try_ms.map(|at_ms| at_ms + DAYS_MS);
    }
    view
}

/// A stuck turn, and a limit that counts down: what the operator has keys for.
pub fn held_up() -> DeckView {
    let mut view = pair_at_work();
    let claude = &mut view.agents[0];
    claude.state = AgentState::Limited;
    claude.since_ms = Some(ago(1_900));
    claude.detail = vec!["the last turn failed: rate_limit".to_owned()];
    claude.unread = 3;
    claude.queue = QueueCounts {
        pending: 3,
        in_flight: 0,
        ambiguous: 0,
    };
    claude.limit = Some(UsageLimit {
        resets_ms: Some(NOW_MS + 7_795_000),
        try_ms: Some(NOW_MS + 7_797_000),
        tries: 1,
        tries_max: 6,
        again: 1,
        is_cancelled: false,
    });
    let codex = &mut view.agents[1];
    codex.since_ms = Some(ago(1_300));
    codex.activity = minutes("____________");
    codex.turn_id = Some("turn-7".to_owned());
    codex.silence = Some(Silence {
        level: SilenceLevel::Stuck,
        since_ms: ago(720),
        snoozed_until_ms: None,
    });
    codex.cut_off = 2;
    codex.context = Some(ContextUse {
        used: 214_140,
        window: 258_000,
    });
    view.inbox.push(InboxCard::new(
        InboxKind::Stuck,
        "stuck-codex",
        Agent::Codex,
        ago(720),
        "No sign of its turn since 13:50: look at it, let it be, or stop it.",
    ));
    view.inbox.push(InboxCard::new(
        InboxKind::Limited,
        "limit-claude",
        Agent::Claude,
        ago(1_900),
        "Claude is at its usage limit",
    ));
    view.inbox.push(InboxCard::new(
        InboxKind::Full,
        "full-codex",
        Agent::Codex,
        ago(1_260),
        "Context 83% full, room for about 2 turns: its sheet shows what can be done.",
    ));
    view
}

/// Messages that wait behind a turn that the person stopped.
pub(super) fn held_messages() -> DeckView {
    let mut view = pair_at_work();
    let card = InboxCard::new(
        InboxKind::Alarm,
        "m-04b5",
        Agent::Codex,
        ago(95),
        "You stopped a turn in Codex: 2 messages wait behind it. You can release them \
         now; else they go on with your next message there, or in another conversation \
         (/new, /resume).",
    );
    let seq = Some(1_205);
    let held = 2;
    view.inbox.insert(0, InboxCard { seq, held, ..card });
    view
}

/// The agents answered each other for too long.
pub(super) fn answered_for_long() -> DeckView {
    let mut view = pair_at_work();
    let card = InboxCard::new(
        InboxKind::Alarm,
        "m-04c1",
        Agent::Claude,
        ago(40),
        "Claude and Codex answered each other 12 times without you: 1 message waits. If you let \
         them go on, it counts anew; so it does with your next prompt to either of them.",
    );
    view.inbox.insert(0, InboxCard { held: 1, ..card });
    view
}

/// Somebody else wrote into the record.
pub(super) fn tampered() -> DeckView {
    let mut view = pair_at_work();
    let card = InboxCard::new(
        InboxKind::Tampering,
        "m-04b6",
        Party::System,
        ago(50),
        "somebody else touched the record: it was appended to; its entry 1 190 is not as it was \
         written",
    );
    let seq = Some(1_206);
    view.inbox.insert(0, InboxCard { seq, ..card });
    view
}

/// Another key lies where the one that signs was.
pub(super) fn key_replaced() -> DeckView {
    let mut view = pair_at_work();
    let card = InboxCard::new(
        InboxKind::Tampering,
        "m-04b7",
        Party::System,
        ago(40),
        "the operator's key on this machine was replaced: 5ca1:ab1e is there, and 9f2c:71d0 signs in \
         this record; nothing is signed with it",
    );
    let steps = [
        "Look which key is here, and compare it with the one that you know: 9f2c:71d0 signs in this \
         record.",
        "Was it not you: put your own key back from where you keep a copy, and ask who could write \
         there.",
    ];
    let card = InboxCard {
        seq: Some(1_206),
        steps: steps.map(str::to_owned).into(),
        command: Some("ctxrelay operator key show".to_owned()),
        ..card
    };
    view.inbox.insert(0, card);
    view
}
