//! What the real Claude's model is told when its context is compacted by itself in the middle of a
//! turn, is cleared, or is taken up again; and what the operator reads of that.

use serde_json::{Value, json};

use crate::pair::{attached_claude, note_the_goal, of_type};
use crate::support::child::run;
use crate::support::model_request::says;
use crate::support::pair::Pair;
use crate::support::panes::wait_for_card;
use crate::support::pty::{Key, Pty};
use crate::support::script::{Reply, ToolCall};
use crate::support::wait::{timeout, wait_until};

const COMPACTED: &str = "your context was compacted at";

/// More than Claude leaves room for in the largest window.
const FULL: u64 = 990_000;

/// The entries of one kind of runtime event.
fn events(pair: &Pair, kind: &str) -> Vec<Value> {
    let events = of_type(pair, "runtime_event").into_iter();
    events
        .filter(|line| line["runtimeEvent"]["kind"] == kind)
        .collect()
}

/// The steps of all packets, in their order.
fn steps(pair: &Pair) -> Vec<Value> {
    let steps = events(pair, "context_reloaded").into_iter();
    steps
        .map(|line| line["runtimeEvent"]["status"].clone())
        .collect()
}

/// What a sheet of a deck of 120 columns shows between its frames, wherever its lines break.
fn sheet(screen: &str) -> String {
    bare(screen.lines().flat_map(|row| row.chars().skip(4).take(112)))
}

/// Without blanks and line breaks.
fn bare(letters: impl Iterator<Item = char>) -> String {
    letters.filter(|letter| !letter.is_whitespace()).collect()
}

#[test]
fn a_compaction_in_the_middle_of_a_turn_is_followed_by_the_packet_in_that_turn() {
    let Some(pair) = Pair::live() else { return };
    let mut claude = attached_claude(&pair);
    note_the_goal(&pair, &mut claude);
    let file = pair.project.write("crate.txt", "twenty plums in here\n");
    let read = ToolCall::named("Read", json!({"file_path": file}));
    pair.messages
        .when(says("weigh the crate"))
        .once()
        .reply(Reply::call(read).filling(FULL));
    pair.messages
        .when(|request| request.is_step() && request.mentions(COMPACTED))
        .once()
        .reply(Reply::text("The crate is weighed."));
    claude.submit("weigh the crate");
    claude.wait_for_text("The crate is weighed.");

    let request = pair
        .messages
        .wait_for_request("the turn's next request", |request| {
            request.is_step() && request.mentions(COMPACTED)
        });
    for words in ["Sort the plums by weight [note", "twenty plums in here"] {
        assert!(request.mentions(words), "{words}: {request:#?}");
    }
    assert_eq!(request.count_of(COMPACTED), 1);
    // Its figures stand in the transcript a moment later.
    let compactions = wait_until("the compaction's entry", timeout(), || {
        let compactions = events(&pair, "context_compacted");
        (!compactions.is_empty()).then_some(compactions)
    });
    assert_eq!(compactions.len(), 1, "{compactions:#?}");
    let compaction = &compactions[0]["runtimeEvent"]["compaction"];
    assert_eq!(compaction["trigger"], "auto");
    let before = compaction["tokensBefore"].as_u64();
    assert!(before >= Some(FULL / 2), "{compaction}");
    assert!(compaction["tokensAfter"].as_u64() < before, "{compaction}");
    // The operator reads what the model read, to the character.
    let shown = wait_until("the packet's proof", timeout(), || {
        let shown = run(&pair.ctxrelay(["continuity", "show", "claude", "--json"]));
        let shown = shown.expect_success().json();
        (shown["packet"]["state"] == "given").then_some(shown)
    });
    assert_eq!(steps(&pair), ["offered", "given"]);
    let packet = &shown["packet"];
    assert_eq!(
        (&packet["state"], &packet["cause"]),
        (&json!("given"), &json!("compacted"))
    );
    assert!(
        request.mentions(packet["text"].as_str().unwrap()),
        "{packet}"
    );
    assert_eq!(shown["compactions"][0]["trigger"], "auto");
    let printed = run(&pair.ctxrelay(["continuity", "show", "claude", "--as", "packet"]));
    let printed = printed.expect_success().stdout;
    assert_eq!(
        printed.trim_end(),
        packet["text"].as_str().unwrap().trim_end()
    );
    // So high that nothing of the packet has to be scrolled to.
    let mut deck = Pty::spawn_sized(&pair.ctxrelay([]), 120, 150).labelled("deck");
    deck.wait_for_text("✓ chain");
    wait_for_card(&mut deck, "Claude");
    deck.press(Key::Char('1'));
    // The same key turns to the next page.
    deck.press(Key::Char('p'));
    deck.wait_for_text("Sort the plums by weight  [note by claude]");
    deck.press(Key::Char('p'));
    deck.wait_for_text("✓ given");
    deck.wait_for_text("compacted, by hook");
    let given = bare(packet["text"].as_str().unwrap().chars());
    deck.wait_for_screen("the packet to the character", |screen| {
        sheet(screen).contains(&given)
    });
    drop(deck);
    let recovered = run(&pair.ctxrelay(["recover", "--json"]))
        .expect_success()
        .json();
    assert_eq!(recovered["packets"]["claude"]["state"], "given");
    assert_eq!(recovered["compactions"][0]["trigger"], "auto");
}

#[test]
fn a_cleared_claude_is_told_only_that_there_is_a_record_and_a_resumed_one_in_short() {
    const RULE: &str = "Crates are numbered from one.";
    let Some(pair) = Pair::new() else { return };
    pair.project.write("CLAUDE.md", "Plums are sorted.\n");
    pair.project.write("AGENTS.md", &format!("{RULE}\n"));
    let _daemon = pair.daemon();
    let mut claude = attached_claude(&pair);
    note_the_goal(&pair, &mut claude);

    claude.submit("/clear");
    claude.wait_until_gone("begin with the plums");
    pair.messages
        .when(says("and now the pears"))
        .once()
        .reply(Reply::text("Pears, then."));
    claude.submit("and now the pears");
    claude.wait_for_text("Pears, then.");
    let request = pair.messages.wait_for_request("the first one", |request| {
        request.is_step() && request.mentions("and now the pears")
    });
    assert!(request.mentions("your context was cleared"), "{request:#?}");
    assert!(!request.mentions("Sort the plums"), "{request:#?}");
    assert_eq!(
        request.count_of(RULE),
        1,
        "the other files' rules: {request:#?}"
    );
    let offered = |cause: &str| -> Vec<String> {
        let steps = events(&pair, "context_reloaded").into_iter();
        let offered = steps.filter(|line| {
            let event = &line["runtimeEvent"];
            event["status"] == "offered" && event["reload"]["cause"] == cause
        });
        offered
            .map(|line| line["content"].as_str().unwrap().to_owned())
            .collect()
    };
    let told = offered("cleared");
    assert_eq!(told.len(), 1);
    assert!(
        request.mentions(&told[0]),
        "the record holds what was given"
    );
    drop(claude);

    let mut claude = Pty::spawn(&pair.ctxrelay(["claude", "--continue"])).labelled("claude");
    claude.wait_for_text("Pears, then.");
    pair.messages
        .when(says("where are the plums"))
        .once()
        .reply(Reply::text("With their goal."));
    claude.submit("where are the plums");
    claude.wait_for_text("With their goal.");
    let request = pair
        .messages
        .wait_for_request("the resumed one", |request| {
            request.is_step() && request.mentions("where are the plums")
        });
    assert!(
        request.mentions("you go on with an earlier session"),
        "{request:#?}"
    );
    assert!(
        request.mentions("Sort the plums by weight [note"),
        "{request:#?}"
    );
    let packets = offered("resumed");
    let text = &packets[0];
    let (packet, _) = text.split_once("\n\n[ctxrelay: rules").unwrap();
    assert!(packet.chars().count() <= 2_000, "{packet}");
    assert!(request.mentions(text));
}
