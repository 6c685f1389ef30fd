//! The worlds of the scenes. Times are fixed; ids look like real ones.

use std::sync::Arc;

use super::agents::{claude, codex};
use super::pieces::{
    ago, base, changed_checks, finality, gates, handoffs, much_work, row, tasks, with, work,
};
use crate::model::{
    Agent, AgentCard, AgentState, BadLines, Banner, Chain, DaemonState, DeckView, FirstStep,
    GateState, HandoffRow, HeaderDaemon, HeaderLedger, HeaderPorts, InboxCard, InboxKind, Level,
    OutcomeState, Party, PolicyView, QuestionRow, QueueCounts, RowOutcome, StepAct, TimelineRow,
    TimelineWindow,
};
use crate::msg::Msg;

/// Both agents work, one proposal waits.
pub fn pair_at_work() -> DeckView {
    let timeline = work();
    DeckView {
        agents: vec![claude(), codex()],
        window: part_of(OF_RECORD, true),
        timeline,
        tasks: tasks(),
        handoffs: handoffs(),
        inbox: vec![
            finality(),
            InboxCard {
                seq: Some(1_202),
                ..InboxCard::new(
                    InboxKind::Question,
                    "q-1202",
                    Agent::Claude,
                    ago(30),
                    "Shall the old endpoint stay for one release?",
                )
            },
        ],
        attached: vec![Agent::Claude, Agent::Codex],
        ..base()
    }
}

/// The same, with much that was handed over and never came back.
pub fn handed_over() -> DeckView {
    let (tasks, handoffs) = much_work();
    DeckView {
        tasks,
        handoffs,
        ..pair_at_work()
    }
}

/// The same, where the agents asked one another and have no answer.
pub fn asked_between() -> DeckView {
    let question = |seq, from: Agent, to: Agent, ask: &str| QuestionRow {
        seq,
        from: from.into(),
        to: to.into(),
        ask: ask.to_owned(),
    };
    DeckView {
        questions: vec![
            question(1_195, Agent::Codex, Agent::Claude, "may the old table go?"),
            question(
                1_200,
                Agent::Claude,
                Agent::Codex,
                "which lock do you mean?",
            ),
        ],
        questions_open: 4,
        ..pair_at_work()
    }
}

/// The same, where the daemon has run the project's gates on the proposal's tree.
pub fn gated() -> DeckView {
    let mut view = pair_at_work();
    view.inbox[0].gates = gates();
    view.inbox[0].changed_checks = Some(changed_checks());
    view.inbox[0].sign_off = Some(
        "Mode auto: the gates approve it where all that it needs, at least one, are green on its \
         very work tree and nothing else stands in the way. Else it waits for you."
            .to_owned(),
    );
    view
}

/// The same, where what the operator decides is signed.
pub fn signed() -> DeckView {
    let mut view = pair_at_work();
    view.inbox[0].sign_off = Some(format!(
        "Decisions are signed here, by the key {SIGNER}. It is locked: deciding asks for its \
         passphrase."
    ));
    view
}

/// The same, with the key unlocked for a while.
pub fn unlocked() -> DeckView {
    let mut view = pair_at_work();
    view.is_key_unlocked = true;
    view.inbox[0].sign_off = Some(format!(
        "Decisions are signed here, by the key {SIGNER}. It is unlocked here until 14:12; the \
         command `lock key` locks it at once."
    ));
    view
}

/// The question for the passphrase of the key that signs.
pub fn passphrase_asked() -> Msg {
    Msg::AskPassphrase {
        fingerprint: SIGNER.to_owned(),
        what: "Approve: Refresh reuses the in-flight request; 24 tests pass.".to_owned(),
    }
}

/// The same, where the person's own security key signs.
pub fn signed_elsewhere() -> DeckView {
    let mut view = pair_at_work();
    view.inbox[0].sign_off = Some(format!(
        "Decisions are signed here, by the key {SSH_SIGNER}. `ssh-keygen` signs with it, and may \
         want a touch or its passphrase."
    ));
    view
}

/// The wish for a touch of that key.
pub fn touch_asked() -> Msg {
    Msg::AwaitKey {
        fingerprint: SSH_SIGNER.to_owned(),
        what: "Approve: Refresh reuses the in-flight request; 24 tests pass.".to_owned(),
        touch: true,
    }
}

/// What came of it where that key wants more than a touch.
pub fn not_signed() -> Msg {
    Msg::Unlocked(Err(
        "ssh-keygen has not signed: Confirm user presence for key ED25519-SK; Couldn't sign message: \
         device requires a PIN. Where this security key wants a PIN, nothing can ask for it on this \
         screen: load the key into ssh-agent in another terminal (`ssh-add \
         /home/ada/.ssh/id_ed25519_sk`) and decide again, or decide on the command line, where it is \
         asked for."
            .to_owned(),
    ))
}

/// A fingerprint of an SSH key.
const SSH_SIGNER: &str = "SHA256:8Jm5xKcBzq0Vw3tYl1oHn6RfPdEa2uGs4iZbQXkT7Ac";

/// A fingerprint of a key.
const SIGNER: &str = "9f2c:71d0:0b8e:44a1:c3d5:6e7f:1289:aa04";

/// The operator said who alone writes to git.
pub fn ruled() -> DeckView {
    let mut view = pair_at_work();
    view.policy = PolicyView {
        coordinator: Some(Party::Agent(Agent::Codex)),
        rules: vec![
            "ENFORCED  Claude: coordinator deny; the plugin's hook judges each call of a tool before \
             Claude runs it"
                .to_owned(),
            "ADVISORY  Codex: network ask; Codex runs what its own sandbox and approvals allow; its \
             requests show the rule, and you answer them"
                .to_owned(),
        ],
    };
    view
}

/// The same, while the daemon runs them.
pub fn gates_running() -> DeckView {
    let mut view = gated();
    let gates = &mut view.inbox[0].gates;
    gates[0].state = GateState::Running;
    gates[0].result = "runs".to_owned();
    gates[0].output = vec![
        "test refresh::is_single_flight ... ok".to_owned(),
        "test refresh::old_token_is_dropped ... ok".to_owned(),
        "test store::survives_a_crash_between_write_and_sync ... ok".to_owned(),
    ];
    gates[1].state = GateState::Missing;
    gates[1].result = "ran on another tree".to_owned();
    view.inbox[0].forbids = vec![
        "required gate tests has not run".into(),
        "required gate lint has not run on this tree".into(),
    ];
    view
}

/// The same, after somebody changed a file since the proposal.
pub fn stale() -> DeckView {
    let mut view = pair_at_work();
    let card = &mut view.inbox[0];
    card.tree_still_same = Some(false);
    card.stale_tree = Some("9d1f0c3e77ab".into());
    view
}

/// A fresh project: nothing has happened, nobody is there.
pub fn empty_first_run() -> DeckView {
    DeckView {
        ledger: HeaderLedger {
            entries: 1,
            chain: Chain::Ok,
            bad_lines: 0,
        },
        ports: HeaderPorts {
            control: Some(4502),
            proxy: Some(4501),
            codex: None,
        },
        agents: vec![
            AgentCard::offline(Agent::Claude),
            AgentCard {
                installed: false,
                ..AgentCard::offline(Agent::Codex)
            },
        ],
        timeline: vec![row(
            1,
            20,
            Party::System,
            None,
            "session",
            "started · 019ab3c4 · no predecessor",
        )],
        window: part_of(OF_RECORD, false),
        first_run: true,
        missing: vec![
            FirstStep {
                text: "This project's record was created in .contextrelay/ (git ignores it)."
                    .to_owned(),
                command: String::new(),
                act: StepAct::Copy,
                done: true,
            },
            FirstStep {
                text: "Claude Code is installed but not running here.".to_owned(),
                command: "ctxrelay claude".to_owned(),
                act: StepAct::Start(Agent::Claude),
                done: false,
            },
            FirstStep {
                text: "Codex is not on the PATH. Everything else works without it.".to_owned(),
                command: "npm install -g @openai/codex".to_owned(),
                act: StepAct::Copy,
                done: false,
            },
        ],
        ..base()
    }
}

/// Both agents are there and nobody does anything.
pub fn quiet() -> DeckView {
    let mut claude = claude();
    claude.since_ms = Some(ago(600));
    claude.unread = 0;
    claude.queue = QueueCounts::default();
    let mut codex = codex();
    codex.state = AgentState::Idle;
    codex.since_ms = Some(ago(900));
    codex.detail = vec!["last turn: completed 15m ago".to_owned()];
    codex.tool = None;
    let mut timeline = work();
    timeline.truncate(6);
    DeckView {
        agents: vec![claude, codex],
        window: part_of(OF_RECORD, false),
        timeline,
        attached: vec![Agent::Claude, Agent::Codex],
        ..base()
    }
}

/// Claude's context was full a while ago.
pub fn compacted() -> DeckView {
    let mut view = pair_at_work();
    let mut compacted = row(
        1_205,
        1,
        Agent::Claude,
        None,
        "compacted",
        "its context was full and was compacted: 236k before, 41k after (tokens)",
    );
    // What it was told of its work is read when it is opened.
    compacted.text_cut = true;
    view.timeline.push(compacted);
    view
}

/// What an agent could write to deceive the eye, or to reach the terminal.
pub fn hostile_text() -> DeckView {
    let mut view = pair_at_work();
    let texts = [
        "All tests pass.\rAll tests fail. ",
        "\x1b[2J\x1b[1;1H\x1b]0;owned\x07 cleared your screen",
        "open \u{202e}fdp.tnemyap\u{202c} please",
        "pass\u{200b}word \u{2066}left\u{2069} \u{feff}",
        "hello\u{e0049}\u{e0067}\u{e006e}\u{e006f}\u{e0072}\u{e0065}\u{e007f} world",
        "Z\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}\u{307}\u{308}\u{309}algo over the line above",
        "漢字かな混じり文 한국어 👩\u{200d}💻 wide cells in a narrow place, and then some more of it so that it wraps 漢字漢字漢字",
        "\u{9b}31m eight bit \u{90}q\u{9c} \u{7f}\0",
        "line one\nline two\r\n\tindented\u{2028}separated",
    ];
    view.timeline = texts
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let seq = 1_300 + index as u64;
            let mut row = row(
                seq,
                60 - index as i64,
                Agent::Codex,
                Some(Agent::Claude),
                "message",
                text,
            );
            row.outcome = Some(RowOutcome::new(
                OutcomeState::Done,
                format!("as \x1b[31m{}", text.chars().take(9).collect::<String>()),
            ));
            row.mark = (index % 3 == 2).then(|| "\u{202e}demialc".to_owned());
            row
        })
        .collect();
    view.window.has_older = false;
    view.project = "acme\x1b[31m\u{202e}ipa".to_owned();
    view.agents[1].detail = vec!["turn: \x1b]8;;http://evil\x07click\r me".to_owned()];
    let tool = view.agents[1].tool.as_mut().expect("a command");
    tool.text = "echo \x1b[2J\u{202e}fr- mr\r\n rm -rf /".to_owned();
    view.inbox[0].summary = "Done.\rNot done.\u{200b} \x1b[8mhidden".to_owned();
    let mut hostile = HandoffRow::clone(view.handoffs.get(0).expect("a handoff"));
    hostile.ask = "review\r\nthis \u{2067}now".into();
    view.tasks.columns[hostile.column.index()].insert(Arc::new(hostile.clone()));
    view.handoffs.insert(Arc::new(hostile));
    view.banner = Some(Banner {
        level: Level::Warn,
        text: "torn tail set aside\r\x1b[0K: 1 line".to_owned(),
    });
    view
}

/// The daemon is gone.
pub fn disconnected() -> DeckView {
    let mut view = pair_at_work();
    view.daemon = HeaderDaemon {
        state: DaemonState::Reconnecting,
        message: Some("the daemon does not answer".to_owned()),
    };
    for card in &mut view.agents {
        card.state = AgentState::Stale;
        card.tool = None;
        card.since_ms = Some(ago(20));
    }
    view.banner = Some(Banner {
        level: Level::Error,
        text:
            "the daemon does not answer; what you see is as it was at 14:02:12. Nothing is lost: \
               every entry is on disk."
                .to_owned(),
    });
    view
}

/// The daemon of this very process has failed.
pub fn failed() -> DeckView {
    let mut view = disconnected();
    let why = "the daemon failed by a fault of ctxrelay's own";
    view.daemon = HeaderDaemon {
        state: DaemonState::Ended,
        message: Some(why.to_owned()),
    };
    view.banner = Some(Banner {
        level: Level::Error,
        text: format!(
            "{why}. What was acknowledged is on disk; it can be started again from here."
        ),
    });
    view
}

/// Some lines of the record could not be read.
pub fn bad_lines() -> DeckView {
    let mut view = pair_at_work();
    view.ledger.bad_lines = 4;
    let newest = view.timeline[view.timeline.len() - 1].seq;
    let later = |line: u64| {
        row(
            line,
            20,
            Agent::Codex,
            None,
            "note",
            "the cache is cold again",
        )
    };
    let run = |first, last| TimelineRow::of_bad_lines(BadLines { first, last }, ago(20));
    view.timeline.extend([
        run(newest + 1, newest + 1),
        later(newest + 2),
        run(newest + 3, newest + 5),
        later(newest + 6),
    ]);
    // Of the six lines behind the newest four are no entries.
    view.ledger.entries = newest + 2;
    view
}

/// A long day on a large screen.
pub fn long_session() -> DeckView {
    let mut view = pair_at_work();
    let mut rows: Vec<TimelineRow> = (0..60)
        .map(|n| {
            let seconds = 1_600 + (60 - n) * 1_450;
            let (from, to) = if n % 2 == 0 { (Agent::Claude, Agent::Codex) } else { (Agent::Codex, Agent::Claude) };
            let seq = 1_100 + n as u64;
            match n % 5 {
                0 => with(row(seq, seconds, from, Some(to), "handoff", "look at the next module and say what you would change first"), OutcomeState::Done, "started a new turn", Some(4), None),
                1 => with(row(seq, seconds, from, Some(to), "reply", "two places hold the lock across an await; both are in session.rs, near the retry"), OutcomeState::Done, "fetched", Some(1_200), None),
                2 => row(seq, seconds, from, None, "note", "decision · keep the public names, change only what is behind them"),
                3 => row(seq, seconds, from, None, "turn", "completed · 9 tools · 2 files"),
                _ => with(row(seq, seconds, from, Some(to), "message", "thank you, going on with the table of sessions"), OutcomeState::Done, "joined the active work", Some(3), None),
            }
        })
        .collect();
    rows.append(&mut view.timeline);
    view.timeline = rows;
    view
}

/// How long the record of the pair at work is.
const OF_RECORD: u64 = 1_204;

/// The newest rows of a record of so many lines.
fn part_of(head: u64, has_older: bool) -> TimelineWindow {
    TimelineWindow {
        head,
        has_older,
        ..TimelineWindow::default()
    }
}
