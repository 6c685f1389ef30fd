//! An operator's hour beside a pair that has worked for weeks, all of it from the keyboard: five
//! decisions, two messages that nobody knows the fate of, one usage limit, a thread, a search, a
//! time, a message and a note. The record says at the end what was done, and the keys are counted.

use std::time::{SystemTime, UNIX_EPOCH};

use ctxrelay::core::agent::Agent;
use ctxrelay::store::dirs::ProjectDirs;
use serde_json::{Value, json};

use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::record::{Record, RecordEnd};
use crate::support::wait::{poll_until, timeout};
use crate::support::ws::RpcSocket;

/// Entries that the pair has left behind in its weeks.
const ENTRIES: usize = 100_000;

/// Threads that are open at the end of them.
const THREADS: usize = 30;

/// More keys than the hour needs: whoever makes it longer sees it here.
const KEYS_MAX: usize = 400;

/// The messages in doubt: one is sent again, the other one is given up.
const KEPT: &str = "is the old endpoint kept?";
const GIVEN_UP: &str = "the rotation test is yours";

/// A proposal, and why it is rejected where it is.
type Decided = (&'static str, Option<&'static str>);

const DECIDED: [Decided; 5] = [
    ("lock is fair", None),
    ("cookie stays", Some("the docs say otherwise")),
    ("refresh is one", None),
    ("list is gone", Some("it is still there")),
    ("all is done", None),
];

/// The deck, and how often a key was pressed.
struct Keyboard {
    deck: Pty,
    keys: usize,
}

impl Keyboard {
    #[track_caller]
    fn press(&mut self, key: Key) {
        self.keys += 1;
        self.deck.press(key);
    }

    /// Types what stands in a field, and waits until it stands there.
    #[track_caller]
    fn write(&mut self, text: &str) {
        self.keys += text.chars().count();
        self.deck.type_text(text);
        self.deck.wait_for_text(text);
    }

    #[track_caller]
    fn sees(&mut self, text: &str) {
        self.deck.wait_for_text(text);
    }

    /// Presses a key that brings this text.
    #[track_caller]
    fn key(&mut self, key: char, text: &str) {
        self.press(Key::Char(key));
        self.sees(text);
    }

    #[track_caller]
    fn enter(&mut self, text: &str) {
        self.press(Key::Enter);
        self.sees(text);
    }

    /// To a pane at the left, by its number, and waits until the cursor is in it.
    #[track_caller]
    fn pane(&mut self, number: char) {
        self.press(Key::Char(number));
        self.deck
            .wait_for_screen("the cursor in the pane", |screen| is_in(screen, number));
    }

    /// Moves in the list until the cursor is on the row with this text, which is in sight at the
    /// left.
    #[track_caller]
    fn to(&mut self, text: &str) {
        for _ in 0..THREADS {
            let step = poll_until(timeout(), || steps(&self.deck.screen(), text));
            let key = match step {
                None => panic!("no row has {text:?}\n{}", self.deck.screen()),
                Some(0) => return,
                Some(down) if down > 0 => 'j',
                Some(_) => 'k',
            };
            self.press(Key::Char(key));
            self.deck
                .wait_for_screen("the next row", |screen| steps(screen, text) != step);
        }
        panic!(
            "the cursor does not get to {text:?}\n{}",
            self.deck.screen()
        );
    }

    /// Back to the panes, from wherever.
    #[track_caller]
    fn back(&mut self, gone: &str) {
        self.press(Key::Escape);
        self.deck.wait_until_gone(gone);
    }
}

/// Columns of the panes at the left.
const LEFT: usize = 42;

/// Whether the cursor is in the pane of this number.
fn is_in(screen: &str, number: char) -> bool {
    let title = format!("\u{256d} {number} ");
    let lines: Vec<&str> = screen.lines().collect();
    let Some(cursor) = lines.iter().position(|line| line.starts_with("│\u{25b8}")) else {
        return false;
    };
    let above = lines[..cursor].iter().rev();
    let mut titles = above.filter(|line| line.starts_with('\u{256d}'));
    titles.next().is_some_and(|line| line.starts_with(&title))
}

/// How far below the cursor the nearest row with this text is, in lines.
fn steps(screen: &str, text: &str) -> Option<isize> {
    let left = |line: &str| line.chars().take(LEFT).collect::<String>();
    let lines: Vec<String> = screen.lines().map(left).collect();
    // The header has such a sign too.
    let cursor = lines
        .iter()
        .position(|line| line.starts_with("│\u{25b8}"))?;
    let rows = lines.iter().enumerate();
    let rows = rows.filter(|(_, line)| line.contains(text));
    let down = rows.map(|(y, _)| y as isize - cursor as isize);
    down.min_by_key(|down| down.abs())
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

/// What the weeks left behind: threads at work, two messages in doubt, Codex at its limit.
fn end_of(record: &Record) -> RecordEnd {
    let mut end = RecordEnd::of(record, now_ms() - 20 * 60_000);
    end.settle(record);
    for thread in 0..THREADS {
        let from = [Agent::Claude, Agent::Codex][thread % 2];
        let handoff = end.handoff(from, &format!("thread {thread}: look at the lock"));
        let question = format!("thread {thread}: which of the plums");
        end.reply(from.peer(), &question, handoff);
    }
    end.ambiguous(Agent::Claude, KEPT);
    end.ambiguous(Agent::Claude, GIVEN_UP);
    end.limited(Agent::Codex);
    end
}

/// The proposal with this summary: found in the Inbox, opened, read, decided.
fn decide(operator: &mut Keyboard, (summary, reason): Decided) {
    operator.pane('3');
    operator.to(summary);
    operator.enter("reject with a reason");
    match reason {
        None => {
            operator.key('a', "Record your approval on commit");
            operator.enter("approved, on record: entry");
        }
        Some(reason) => {
            operator.press(Key::Char('x'));
            operator.write(reason);
            operator.enter("rejected, on record: entry");
        }
    }
    // What is decided leaves the list, and the cursor with it.
    operator
        .deck
        .wait_for_screen("a list without it", |screen| {
            steps(screen, summary).is_none()
        });
}

/// What became of a message, by the last word of the record about it.
fn fate<'l>(ledger: &'l [Value], text: &str) -> &'l Value {
    let sent = ledger.iter().find(|line| line["content"] == text).unwrap();
    let of_it = |line: &&Value| line["runtimeEvent"]["messageId"] == sent["id"];
    &ledger.iter().rfind(of_it).unwrap()["runtimeEvent"]["status"]
}

#[test]
fn an_operators_hour_is_a_few_hundred_keys_and_all_of_it_is_on_record() {
    let project = Project::new();
    let dirs = ProjectDirs::new(project.root().to_owned(), None);
    let record = Record::of(ENTRIES);
    record.lay_with(&dirs, end_of(&record));
    let deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40).labelled("deck");
    let mut operator = Keyboard { deck, keys: 0 };
    operator.sees("5 Handoffs 30 open");
    operator.sees("2 ambiguous");
    operator.sees("limited");
    let (mut claude, mut codex) = (project.agent("claude"), project.agent("codex"));
    let propose_all = |claude: &mut RpcSocket, codex: &mut RpcSocket, decided: &[Decided]| {
        for (n, (summary, _)) in decided.iter().enumerate() {
            let (by, socket) = match n % 2 {
                0 => ("codex", &mut *codex),
                _ => ("claude", &mut *claude),
            };
            let proposal = json!({"agent": by, "summary": summary, "evidence": ["cargo test"]});
            socket.expect("finality/propose", proposal);
        }
    };

    // Two decisions.
    propose_all(&mut claude, &mut codex, &DECIDED[..2]);
    operator.sees("3 wait for you");
    for decided in &DECIDED[..2] {
        decide(&mut operator, *decided);
    }

    // What became of two messages nobody knows: the one again, the other one not.
    operator.pane('3');
    operator.to("2 ambiguous");
    operator.enter("Nobody can know whether Codex has them");
    operator.key('r', "Send this message again?");
    operator.enter("1 ambiguous");
    operator.key('x', "Give up this message?");
    operator.enter("None of them is left");
    operator.back("None of them is left");

    // A thread, from the task to its last entry and back.
    operator.pane('4');
    operator.to("thread 28: look at");
    operator.key('o', "Thread  h");
    operator.sees("thread 28: which of the plums");
    operator.press(Key::Char('G'));
    operator.enter("as JSON");
    operator.press(Key::Ctrl('o'));
    operator.sees("Thread  h");
    operator.back("Thread  h");

    // A search in all of it, and back to where one was.
    operator.key('/', "Search");
    operator.write("plums 17");
    operator.sees("1 of 1 in the whole record");
    operator.press(Key::Enter);
    operator.deck.wait_until_gone("in the whole record");
    operator.sees("thread 17: which of the plums");
    // A number and a time, and the newest.
    operator.press(Key::Char('#'));
    operator.write("50001");
    operator.enter("50001: The refresh takes the lock first");
    operator.press(Key::Char('#'));
    operator.write("-1h");
    operator.press(Key::Enter);
    operator.deck.wait_until_gone("50001: The refresh");
    operator.key('g', "following");

    // A message and a note.
    operator.key('m', "0 characters");
    operator.write("mind the rotation");
    operator.press(Key::Enter);
    operator.deck.wait_until_gone("17 characters");
    operator.key('M', "Note \u{b7} note");
    operator.write("the release is on Friday");
    operator.enter("recorded: your note");

    // The limit is tried.
    operator.pane('1');
    operator.to("Codex");
    operator.enter("try now");
    operator.key('l', "Try the usage limit now?");
    operator.press(Key::Char('j'));
    operator.press(Key::Enter);
    operator.deck.wait_until_gone("Try the usage limit now?");
    operator.sees("Codex works again: the usage limit is over");
    operator.back("m write to it");

    // Three more decisions.
    propose_all(&mut claude, &mut codex, &DECIDED[2..]);
    operator.sees("3 wait for you");
    for decided in &DECIDED[2..] {
        decide(&mut operator, *decided);
    }
    operator.deck.wait_until_gone("wait for you");

    // With nobody attached it is left at once.
    drop((claude, codex));
    operator.sees("Claude \u{b7} offline");
    operator.press(Key::Char('q'));
    assert_eq!(operator.deck.wait_exit(), 0);
    eprintln!("an operator's hour: {} keys", operator.keys);
    assert!(operator.keys <= KEYS_MAX, "{} keys", operator.keys);
    assert_on_record(&project);
}

fn assert_on_record(project: &Project) {
    let ledger = project.ledger();
    let by_operator: Vec<&Value> = ledger
        .iter()
        .filter(|line| line["source"] == "human")
        .collect();
    let decisions = by_operator
        .iter()
        .filter(|line| line["type"] == "finality_decision");
    let decisions: Vec<_> = decisions.collect();
    assert_eq!(decisions.len(), DECIDED.len(), "{decisions:#?}");
    for (decision, (summary, reason)) in decisions.iter().zip(DECIDED) {
        let approved = &decision["finality"]["approved"];
        assert_eq!(*approved, reason.is_none(), "{decision}");
        let text = decision.to_string();
        assert!(text.contains(summary), "{text}");
        assert!(reason.is_none_or(|reason| text.contains(reason)), "{text}");
    }
    for (kind, text) in [
        ("message", "mind the rotation"),
        ("note", "the release is on Friday"),
    ] {
        let is_it = |line: &&&Value| line["type"] == kind && line["content"] == text;
        assert_eq!(by_operator.iter().filter(is_it).count(), 1, "{text}");
    }
    assert_eq!(*fate(&ledger, KEPT), "requeued");
    assert_eq!(*fate(&ledger, GIVEN_UP), "cancelled");
    let over = |line: &&Value| line["content"] == "Codex works again: the usage limit is over";
    assert_eq!(ledger.iter().filter(over).count(), 1);
    let verified = project.run(["ledger", "verify", "--json"]).json();
    assert_eq!(verified["ok"], true, "{verified}");
}
