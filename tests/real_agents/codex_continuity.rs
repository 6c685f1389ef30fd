//! What the real Codex's model is told again after its context was compacted.

use std::path::Path;

use serde_json::{Value, json};

use crate::held_queue::send_to_queue;
use crate::pair::{
    attached_claude, attached_codex, of_type, verify, wait_status as wait_for_pair_status,
    without_sandbox,
};
use crate::support::child::run;
use crate::support::mcp::McpClient;
use crate::support::model_request::{ModelRequest, last_says, mentions, says, tool_said};
use crate::support::pair::Pair;
use crate::support::panes::wait_for_state;
use crate::support::pty::{Key, Pty};
use crate::support::script::{Gate, Reply};
use crate::support::wait::{timeout, wait_until};

pub const PACKET: &str = "your context was compacted at";

/// The beginning of the packet at a conversation's start.
pub const BEGINS: &str = "you begin, ";

/// The beginning of the packet of a conversation that is gone on with.
const RESUMED: &str = "you go on with an earlier session, ";

/// A rule that only Claude's file has.
const RULE: &str = "No pear is bruised.";

/// The entries of one kind of runtime event.
pub fn events(pair: &Pair, kind: &str) -> Vec<Value> {
    let events = of_type(pair, "runtime_event").into_iter();
    events
        .filter(|line| line["runtimeEvent"]["kind"] == kind)
        .collect()
}

#[track_caller]
pub fn wait_packets(pair: &Pair, cause: &str, status: &str, times: usize) {
    wait_until(&format!("{times} packets {status}"), timeout(), || {
        let steps = events(pair, "context_reloaded").into_iter();
        let of = steps.filter(|line| {
            let event = &line["runtimeEvent"];
            event["reload"]["cause"] == cause && event["status"] == status
        });
        (of.count() == times).then_some(())
    });
}

/// Waits until so many such packets stand in Codex's own file of the thread. The record has an offered one
/// before it leaves, and a prompt of that moment would be ahead of it.
#[track_caller]
pub fn wait_in_thread(pair: &Pair, packet: &str, times: usize) {
    wait_until(&format!("{times} packets in the thread"), timeout(), || {
        let text = all_threads(pair);
        let items = text
            .lines()
            .filter(|line| line.contains(r#""type":"response_item""#) && line.contains(packet));
        (items.count() == times).then_some(())
    });
}

/// All that Codex has written down of its threads.
pub fn all_threads(pair: &Pair) -> String {
    file_texts(&pair.codex_home.config().with_file_name("sessions")).concat()
}

/// The texts of all files below a folder.
fn file_texts(folder: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            texts.append(&mut file_texts(&path));
        } else {
            texts.extend(std::fs::read_to_string(&path));
        }
    }
    texts
}

/// What Codex says of its work.
#[track_caller]
pub fn state(pair: &Pair) {
    let mut codex = McpClient::start(&pair.ctxrelay(["codex-mcp", "server"]));
    for (text, kind) in [
        ("Sort the pears by weight", "goal"),
        ("No pear is thrown away", "constraint"),
        ("Weigh the first basket", "next_step"),
        ("Basket by basket", "plan"),
        ("The scale is set to grams", "decision"),
    ] {
        codex.tool("append_note", json!({"text": text, "kind": kind}));
    }
}

/// What of it stands in a packet.
pub const STATED: [&str; 5] = [
    "Sort the pears by weight [note",
    "No pear is thrown away [note",
    "Weigh the first basket [note",
    "Basket by basket [note",
    "The scale is set to grams [note",
];

/// A handoff of Codex's that stays open.
#[track_caller]
pub fn hand_off(pair: &Pair) {
    let mut codex = McpClient::start(&pair.ctxrelay(["codex-mcp", "server"]));
    let (ask, reason) = ("Count the baskets", "you have the list");
    codex.tool("handoff_to_claude", json!({"ask": ask, "reason": reason}));
}

/// What of it stands in a packet.
pub const HANDED_OFF: &str = ": Count the baskets";

/// Waits until the terminal has shown the end of so many turns since this prompt. Before that it
/// may take neither `/compact` nor another prompt. The words alone are the conversation's name, too.
#[track_caller]
pub fn rests(codex: &mut Pty, prompt: &str, turns: usize) {
    codex.wait_for_screen("the ends of its turns", |screen| {
        let since = screen
            .rfind(&format!("› {prompt}"))
            .map_or("", |at| &screen[at..]);
        since.matches("Worked for").count() == turns
    });
}

#[track_caller]
fn compact(pair: &Pair, codex: &mut Pty, prompt: &str, times: usize) {
    rests(codex, prompt, 1);
    codex.submit("/compact");
    wait_until("the compaction's entry", timeout(), || {
        (events(pair, "context_compacted").len() == times).then_some(())
    });
    wait_in_thread(pair, PACKET, times);
    rests(codex, prompt, 2);
}

#[test]
fn after_a_compaction_codexs_next_request_holds_what_it_was_at_once() {
    let Some(pair) = Pair::new() else { return };
    pair.project.write("AGENTS.md", "Baskets are numbered.\n");
    pair.project
        .write("CLAUDE.md", &format!("{RULE}\n\nBaskets are numbered.\n"));
    let _daemon = pair.daemon();
    state(&pair);
    hand_off(&pair);
    let mut codex = attached_codex(&pair);
    // Else it would be put in behind the first turn, or behind the compaction.
    wait_in_thread(&pair, BEGINS, 1);
    pair.responses
        .when(says("sort the pears"))
        .once()
        .reply(Reply::text("The scale is set up.").filling(40_000));
    codex.submit("sort the pears");
    codex.wait_for_text("The scale is set up.");
    let mut before = "sort the pears".to_owned();
    for times in 1..=3 {
        compact(&pair, &mut codex, &before, times);
        let prompt = format!("go on, number {times}");
        pair.responses
            .when(last_says("go on, number"))
            .once()
            .reply(Reply::text("On it."));
        codex.submit(&prompt);
        let wanted = prompt.clone();
        let request = pair
            .responses
            .wait_for_request("the next request", move |request| {
                request.is_step() && request.last_text().contains(&wanted)
            });
        for words in STATED.into_iter().chain([HANDED_OFF]) {
            assert!(request.mentions(words), "{words}: {request:#?}");
        }
        assert_eq!(request.count_of(PACKET), 1, "packets pile up");
        let rules = [RULE, "Baskets are numbered."].map(|rule| request.count_of(rule));
        assert_eq!(rules, [1, 1], "the other's rule once, its own once");
        wait_packets(&pair, "compacted", "given", times);
        before = prompt;
    }
}

#[test]
fn claude_hears_once_with_its_prompt_that_codex_was_compacted() {
    const LINE: &str = "[ctxrelay: Codex's context was compacted at";
    let Some(pair) = Pair::live() else { return };
    state(&pair);
    let mut claude = attached_claude(&pair);
    let mut codex = attached_codex(&pair);
    pair.responses
        .when(says("sort the pears"))
        .once()
        .reply(Reply::text("The scale is set up.").filling(40_000));
    codex.submit("sort the pears");
    codex.wait_for_text("The scale is set up.");
    compact(&pair, &mut codex, "sort the pears", 1);
    for (prompt, answer) in [("how far is Codex", "It goes on."), ("and now", "Still.")] {
        let asked = pair.messages.when(says(prompt)).once();
        asked.reply(Reply::text(answer));
        claude.submit(prompt);
        claude.wait_for_text(answer);
        let request = pair.messages.wait_for_request("its prompt", |request| {
            request.is_step() && request.user_text().contains(prompt)
        });
        assert_eq!(request.count_of(LINE), 1, "{request:#?}");
    }
}

#[test]
fn a_compaction_within_a_turn_is_made_good_in_it_and_its_first_last_word_is_the_reply() {
    let Some(pair) = Pair::new() else { return };
    without_sandbox(&pair);
    let config = std::fs::read_to_string(pair.codex_home.config()).unwrap();
    let config = format!("model_auto_compact_token_limit = 50000\n{config}");
    std::fs::write(pair.codex_home.config(), config).unwrap();
    let _daemon = pair.daemon();
    state(&pair);
    hand_off(&pair);
    let mut claude = McpClient::start(&pair.ctxrelay(["bridge"]));
    pair.responses.when(says("weigh them all")).once().reply(
        Reply::shell(
            "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: scale.txt\n+grams\n\
                 *** End Patch\nEOF",
        )
        .filling(60_500),
    );
    // Before the packet is there the model ends the turn, which the packet prolongs.
    let is_late = Gate::new("the packet is on its way");
    let is_compacted = |request: &ModelRequest| mentions("Another language model")(request);
    pair.responses
        .when(move |request| is_compacted(request) && !request.mentions(PACKET))
        .once()
        .reply(
            Reply::text("All are weighed.")
                .filling(9_000)
                .behind(&is_late),
        );
    pair.responses
        .when(mentions(PACKET))
        .once()
        .reply(Reply::text("I have read what I was given.").filling(10_000));
    claude.tool("reply", json!({"text": "weigh them all"}));
    wait_packets(&pair, "compacted", "offered", 1);
    // What is asked of the adapter is done in its order: when Codex has this, it has the packet.
    send_to_queue(&pair, &mut claude, "then count them");
    is_late.open();
    let request = pair.responses.wait_for_request("the packet", |request| {
        request.mentions(PACKET) && !request.mentions("then count them")
    });
    for words in STATED.into_iter().chain([HANDED_OFF]) {
        assert!(request.mentions(words), "{words}: {request:#?}");
    }
    assert_eq!(request.count_of(PACKET), 1);
    let of_the_turn = "Files you changed last\n- scale.txt";
    assert!(request.mentions(of_the_turn), "{request:#?}");
    let compacted = &events(&pair, "context_compacted")[0];
    let before = &compacted["runtimeEvent"]["compaction"]["tokensBefore"];
    assert!(before.as_u64() >= Some(60_500), "{compacted:#}");
    wait_packets(&pair, "compacted", "given", 1);
    // The handoff is there before it.
    let answer = wait_until("the reply", timeout(), || {
        let answer = claude.tool("wait_for_messages", json!({"timeout_s": 50}));
        let answer = answer["messages"].to_string();
        answer.contains("All are weighed.").then_some(answer)
    });
    assert!(!answer.contains("what I was given"), "{answer}");
    verify(&pair);
}

#[test]
fn what_codex_says_of_its_work_and_the_file_that_it_wrote_are_in_the_record_and_not_in_the_mail() {
    let Some(pair) = Pair::new() else { return };
    without_sandbox(&pair);
    let _daemon = pair.daemon();
    let mut claude = McpClient::start(&pair.ctxrelay(["bridge"]));
    let patch = "*** Begin Patch\n*** Add File: pears.txt\n+ripe\n*** End Patch\n";
    pair.responses
        .when(says("write the pears down"))
        .once()
        .reply(Reply::shell(&format!("apply_patch <<'EOF'\n{patch}EOF")));
    pair.responses
        .when(tool_said("pears.txt"))
        .once()
        .reply(Reply::text(
            "They are written down.\n<!-- relay:objective Sort the pears -->",
        ));
    claude.tool("reply", json!({"text": "write the pears down"}));
    let answer = claude.tool("wait_for_messages", json!({"timeout_s": 50}));
    let answer = answer["messages"][0].to_string();
    assert!(answer.contains("They are written down."), "{answer}");
    assert!(!answer.contains("relay:"), "{answer}");
    wait_until("the note", timeout(), || {
        let notes = of_type(&pair, "note");
        (notes.len() == 1 && notes[0]["content"] == "Sort the pears").then_some(())
    });
    let files = events(&pair, "turn_files");
    assert_eq!(files.len(), 1, "{files:#?}");
    let written = &files[0]["runtimeEvent"]["files"]["written"];
    assert_eq!(*written, json!(["pears.txt"]));
    verify(&pair);
}

/// The operator's command in a terminal of its own, the word typed; what it said, and its exit code.
#[track_caller]
fn compact_by_command(pair: &Pair) -> (String, u32) {
    let mut line = Pty::spawn(&pair.ctxrelay(["continuity", "compact", "codex"]));
    line.wait_for_text("Type `compact`");
    line.type_text("compact");
    line.press(Key::Enter);
    let code = line.wait_exit();
    (line.screen(), code)
}

#[test]
fn each_new_conversation_of_codexs_is_told_in_short_what_the_record_holds_and_the_others_rules() {
    let Some(pair) = Pair::new() else { return };
    pair.project
        .write("CLAUDE.md", &format!("{RULE}\n\nBaskets are numbered.\n"));
    let _daemon = pair.daemon();
    state(&pair);
    let mut codex = attached_codex(&pair);
    for (times, prompt) in ["sort the pears", "count them"].into_iter().enumerate() {
        wait_in_thread(&pair, BEGINS, times + 1);
        pair.responses
            .when(last_says(prompt))
            .once()
            .reply(Reply::text("The scale is set up."));
        codex.submit(prompt);
        let request = pair
            .responses
            .wait_for_request("its first request", |request| {
                request.is_step() && request.last_text().contains(prompt)
            });
        assert_eq!(request.count_of(BEGINS), 1, "{request:#?}");
        for words in STATED.into_iter().chain([RULE]) {
            assert_eq!(request.count_of(words), 1, "{words}: {request:#?}");
        }
        wait_packets(&pair, "started", "given", times + 1);
        rests(&mut codex, prompt, 1);
        if times == 0 {
            codex.submit("/new");
        }
    }
    verify(&pair);
}

#[test]
fn a_thread_that_a_new_daemon_takes_up_again_is_told_in_short_once() {
    let Some(pair) = Pair::new() else { return };
    pair.project.write("CLAUDE.md", &format!("{RULE}\n"));
    let daemon = pair.daemon();
    state(&pair);
    let mut codex = attached_codex(&pair);
    wait_in_thread(&pair, BEGINS, 1);
    pair.responses
        .when(says("sort the pears"))
        .once()
        .reply(Reply::text("The scale is set up."));
    codex.submit("sort the pears");
    rests(&mut codex, "sort the pears", 1);
    drop(codex);
    daemon.stop();

    // The second time nothing has come in between.
    for _ in 0..2 {
        let daemon = pair.daemon();
        let codex = attached_codex(&pair);
        wait_in_thread(&pair, RESUMED, 1);
        drop(codex);
        daemon.stop();
    }
    let _daemon = pair.daemon();
    let mut codex = attached_codex(&pair);
    pair.responses
        .when(last_says("go on with them"))
        .once()
        .reply(Reply::text("On it."));
    codex.submit("go on with them");
    let request = pair
        .responses
        .wait_for_request("the next request", |request| {
            request.is_step() && request.last_text().contains("go on with them")
        });
    assert_eq!(request.count_of(RESUMED), 1, "{request:#?}");
    assert_eq!(request.count_of(RULE), 1, "{request:#?}");
    for words in STATED {
        assert!(request.mentions(words), "{words}: {request:#?}");
    }
    wait_packets(&pair, "resumed", "given", 1);
    wait_packets(&pair, "resumed", "offered", 1);
    verify(&pair);
}

#[test]
fn a_codex_that_says_it_read_no_file_is_given_the_rules_of_its_own() {
    let Some(pair) = Pair::new() else { return };
    let config = std::fs::read_to_string(pair.codex_home.config()).unwrap();
    let config = format!("project_doc_max_bytes = 0\n{config}");
    std::fs::write(pair.codex_home.config(), config).unwrap();
    pair.project.write("AGENTS.md", &format!("{RULE}\n"));
    let instructions = pair.ctxrelay(["instructions", "codex", "--json"]);
    let state =
        || run(&instructions).expect_success().json()["agents"]["codex"][0]["state"].clone();
    assert_eq!(state(), "native", "by the rules of its version");
    let _daemon = pair.daemon();
    let mut codex = attached_codex(&pair);
    wait_in_thread(&pair, RULE, 1);
    codex.submit("sort the pears");
    let request = pair
        .responses
        .wait_for_request("its first request", |request| {
            request.is_step() && request.last_text().contains("sort the pears")
        });
    assert_eq!(request.count_of(RULE), 1, "{request:#?}");
    assert_eq!(state(), "given", "by its own word");
    verify(&pair);
}

#[test]
fn a_codex_that_says_nothing_of_its_work_is_reminded_with_a_message_after_eight_turns() {
    let Some(pair) = Pair::new() else { return };
    pair.without_person();
    let _daemon = pair.daemon();
    let mut claude = McpClient::start(&pair.ctxrelay(["bridge"]));
    for number in 1..=10 {
        let text = format!("basket number {number} is here");
        claude.tool("reply", json!({"text": text}));
        let request = pair
            .responses
            .wait_for_request("the message", move |request| {
                request.is_step() && request.last_text().contains(&text)
            });
        let reminders = usize::from(number >= 9);
        assert_eq!(request.count_of("[ctxrelay: 8 turns since"), reminders);
        wait_for_pair_status(&pair, "an idle Codex", |status| {
            status["agents"]["codex"]["state"] == "idle"
                && status["queue"]["codex"]["inFlight"] == 0
        });
    }
}

#[test]
fn the_operators_command_compacts_codexs_context_only_between_its_turns() {
    let Some(pair) = Pair::live() else { return };
    // Said by no bridge of this process: what it starts would run below an agent.
    let objective = ["continuity", "objective", STATED[0]];
    assert_eq!(Pty::spawn(&pair.ctxrelay(objective)).wait_exit(), 0);
    let mut codex = attached_codex(&pair);
    let works = Gate::new("the turn runs");
    pair.responses
        .when(says("sort the pears"))
        .once()
        .reply(Reply::text("The scale is set up.").behind(&works));
    codex.submit("sort the pears");
    works.wait_arrived();
    wait_for_pair_status(&pair, "a busy Codex", |status| {
        status["agents"]["codex"]["state"] == "busy"
    });
    let (said, code) = compact_by_command(&pair);
    assert!(said.contains("would cut off its turn"), "{said}");
    assert_ne!(code, 0);
    works.open();
    codex.wait_for_text("The scale is set up.");
    rests(&mut codex, "sort the pears", 1);
    assert!(events(&pair, "context_compacted").is_empty());

    wait_for_pair_status(&pair, "an idle Codex", |status| {
        status["agents"]["codex"]["state"] == "idle"
    });
    let (said, code) = compact_by_command(&pair);
    assert_eq!(code, 0, "{said}");
    wait_in_thread(&pair, PACKET, 1);
    rests(&mut codex, "sort the pears", 2);
    codex.submit("go on, please");
    let request = pair
        .responses
        .wait_for_request("the next request", |request| {
            request.is_step() && request.last_text().contains("go on, please")
        });
    assert_eq!(request.count_of(PACKET), 1, "{request:#?}");
    assert!(request.mentions(STATED[0]), "{request:#?}");
    wait_packets(&pair, "compacted", "given", 1);
    let compacted = events(&pair, "context_compacted");
    assert_eq!(compacted.len(), 1, "{compacted:?}");
    assert_eq!(
        compacted[0]["runtimeEvent"]["compaction"]["trigger"],
        "manual"
    );
    verify(&pair);
}

#[test]
fn mail_that_comes_while_the_deck_has_codex_compacted_is_read_behind_the_packet() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    state(&pair);
    hand_off(&pair);
    let mut claude = McpClient::start(&pair.ctxrelay(["bridge"]));
    let mut codex = attached_codex(&pair);
    pair.responses
        .when(says("sort the pears"))
        .once()
        .reply(Reply::text("The scale is set up."));
    codex.submit("sort the pears");
    codex.wait_for_text("The scale is set up.");
    rests(&mut codex, "sort the pears", 1);
    wait_for_pair_status(&pair, "an idle Codex", |status| {
        status["agents"]["codex"]["state"] == "idle"
    });

    let sums_up = Gate::new("the model sums up");
    pair.responses.hold_compaction(&sums_up);
    // It hears a moment later, and asks another question until then.
    wait_for_state(&mut deck, "Codex", "idle");
    deck.press(Key::Char('1'));
    deck.press(Key::Char('j'));
    deck.press(Key::Char('%'));
    deck.wait_for_text("% compact");
    deck.press(Key::Char('%'));
    deck.wait_for_text("Compact Codex's context?");
    deck.press(Key::Char('j'));
    deck.press(Key::Char('j'));
    deck.press(Key::Enter);
    sums_up.wait_arrived();
    claude.tool("reply", json!({"text": "how many baskets are there?"}));
    // Not even in the app-server's queue, which would begin a turn with it at once.
    wait_for_pair_status(&pair, "the mail to wait", |status| {
        status["queue"]["codex"]["pending"] == 1 && status["queue"]["codex"]["inFlight"] == 0
    });
    sums_up.open();
    let request = pair
        .responses
        .wait_for_request("the mail's request", |request| {
            request.is_step() && request.mentions("how many baskets are there?")
        });
    assert_eq!(request.count_of(PACKET), 1, "{request:#?}");
    let count = "messages for you that you have not answered for: 1\n";
    for words in STATED.into_iter().chain([HANDED_OFF, count]) {
        assert!(request.mentions(words), "{words}: {request:#?}");
    }
    wait_packets(&pair, "compacted", "given", 1);
    assert_eq!(pair.responses.times_heard("how many baskets are there?"), 1);
    let compacted = events(&pair, "context_compacted");
    assert_eq!(compacted.len(), 1, "{compacted:?}");
    assert_eq!(
        compacted[0]["runtimeEvent"]["compaction"]["trigger"],
        "manual"
    );
    verify(&pair);
}

#[test]
fn a_rule_that_codex_read_and_that_changed_since_is_given_after_its_compaction() {
    let Some(pair) = Pair::new() else { return };
    pair.project.write("AGENTS.md", "Baskets are numbered.\n");
    let _daemon = pair.daemon();
    state(&pair);
    let mut codex = attached_codex(&pair);
    wait_in_thread(&pair, BEGINS, 1);
    pair.project.write("AGENTS.md", "Baskets are weighed.\n");
    pair.responses
        .when(says("sort the pears"))
        .once()
        .reply(Reply::text("The scale is set up.").filling(40_000));
    codex.submit("sort the pears");
    codex.wait_for_text("The scale is set up.");
    let changed = wait_until("the change's entry", timeout(), || {
        events(&pair, "rules_changed").pop()
    });
    let file = &changed["runtimeEvent"]["rules"]["files"][0];
    assert_eq!(file["file"], "AGENTS.md");
    assert_eq!(
        file["lines"],
        "- Baskets are numbered.\n+ Baskets are weighed."
    );
    compact(&pair, &mut codex, "sort the pears", 1);
    pair.responses
        .when(last_says("go on with them"))
        .once()
        .reply(Reply::text("On it."));
    codex.submit("go on with them");
    let request = pair
        .responses
        .wait_for_request("the next request", |request| {
            request.is_step() && request.last_text().contains("go on with them")
        });
    assert_eq!(request.count_of("Baskets are weighed."), 1, "{request:#?}");
    let told = events(&pair, "rules_changed").pop().unwrap();
    assert_eq!(told["runtimeEvent"]["rules"]["files"], json!([]));
}

/// The steps of the packets of compactions.
fn of_compactions(pair: &Pair) -> Vec<String> {
    let steps = events(pair, "context_reloaded").into_iter();
    let steps = steps.map(|line| line["runtimeEvent"].clone());
    steps
        .filter(|event| event["reload"]["cause"] == "compacted")
        .map(|event| event["status"].as_str().unwrap().to_owned())
        .collect()
}

/// What became of the first of them, once that is known.
#[track_caller]
pub fn became(pair: &Pair) -> String {
    wait_until("what became of the packet", timeout(), || {
        let mut steps = of_compactions(pair).into_iter();
        steps.find(|step| step != "offered")
    })
}

#[test]
fn a_packet_whose_daemon_is_killed_as_it_is_given_comes_once_or_is_said_not_to_have_come() {
    let Some(pair) = Pair::new() else { return };
    let mut daemon = pair.daemon();
    state(&pair);
    let mut codex = attached_codex(&pair);
    pair.responses
        .when(says("sort the pears"))
        .once()
        .reply(Reply::text("The scale is set up.").filling(40_000));
    codex.submit("sort the pears");
    codex.wait_for_text("The scale is set up.");
    rests(&mut codex, "sort the pears", 1);
    codex.submit("/compact");
    wait_packets(&pair, "compacted", "offered", 1);
    daemon.crash();
    drop(codex);

    let _daemon = pair.daemon();
    let mut codex = attached_codex(&pair);
    pair.responses
        .when(last_says("go on after it"))
        .once()
        .reply(Reply::text("On it."));
    codex.submit("go on after it");
    let request = pair
        .responses
        .wait_for_request("the next request", |request| {
            request.is_step() && request.last_text().contains("go on after it")
        });
    codex.wait_for_text("On it.");
    let became = became(&pair);
    // One that is not there is made anew, once; it may be in time for this turn.
    let came = request.count_of(PACKET);
    let offered = of_compactions(&pair)
        .iter()
        .filter(|step| *step == "offered")
        .count();
    match (became.as_str(), offered) {
        ("given", offered) => assert_eq!((came, offered), (1, 1), "{request:#?}"),
        ("not_given", 1) => assert_eq!(came, 0, "{request:#?}"),
        (_, offered) => assert!(came <= 1 && offered <= 2, "{offered}: {request:#?}"),
    }
    verify(&pair);
}
