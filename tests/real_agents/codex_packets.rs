//! The packet of the real Codex's where it comes late, where the app-server dies before it, and where
//! a conversation is taken up again.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::codex_continuity::{
    BEGINS, HANDED_OFF, PACKET, STATED, became, events, hand_off, rests, state, wait_in_thread,
    wait_packets,
};
use crate::held_queue::send_to_queue;
use crate::pair::{attached_codex, status, verify, wait_status};
use crate::recovered::arguments;
use crate::support::child::run;
use crate::support::mcp::McpClient;
use crate::support::model_request::{ModelRequest, mentions, says};
use crate::support::pair::Pair;
use crate::support::pty::Pty;
use crate::support::script::{Gate, Reply};
use crate::support::script_file::write_program;
use crate::support::wait::{timeout, wait_until};

/// The summary of Codex's own, which stands in each request after a compaction.
const SUMMARY: &str = "Another language model";

/// The beginning of the packet of a conversation that is gone on with.
const RESUMED: &str = "you go on with an earlier session";

/// A turn of the person's after which the context holds so many tokens.
#[track_caller]
fn first_turn(pair: &Pair, codex: &mut Pty, tokens: u64) {
    pair.responses
        .when(says("sort the pears"))
        .once()
        .reply(Reply::text("The scale is set up.").filling(tokens));
    codex.submit("sort the pears");
    codex.wait_for_text("The scale is set up.");
    rests(codex, "sort the pears", 1);
}

#[test]
fn a_compaction_ahead_of_a_turn_is_made_good_in_that_turn_once() {
    const PROMPT: &str = "go on with them";
    const MAIL: &str = "then count them";
    let Some(pair) = Pair::new() else { return };
    let config = std::fs::read_to_string(pair.codex_home.config()).unwrap();
    let config = format!("model_auto_compact_token_limit = 50000\n{config}");
    std::fs::write(pair.codex_home.config(), config).unwrap();
    let _daemon = pair.daemon();
    state(&pair);
    hand_off(&pair);
    let mut claude = McpClient::start(&pair.ctxrelay(["bridge"]));
    let mut codex = attached_codex(&pair);
    wait_in_thread(&pair, BEGINS, 1);
    first_turn(&pair, &mut codex, 60_500);
    // Before the packet is there the model ends the turn, which the packet prolongs.
    let is_late = Gate::new("the packet is on its way");
    pair.responses
        .when(|request| request.mentions(PROMPT) && !request.mentions(PACKET))
        .once()
        .reply(Reply::text("On it.").filling(9_000).behind(&is_late));
    pair.responses
        .when(mentions(PACKET))
        .once()
        .reply(Reply::text("I have read what I was given.").filling(10_000));
    codex.submit(PROMPT);
    is_late.wait_arrived();
    let first = pair
        .responses
        .wait_for_request("the turn's first request", |request| {
            request.is_step() && request.mentions(PROMPT)
        });
    assert!(first.mentions(SUMMARY), "{first:#?}");
    assert_eq!(first.count_of(PACKET), 0, "{first:#?}");
    wait_packets(&pair, "compacted", "offered", 1);
    // What is asked of the adapter is done in its order: when Codex has this, it has the packet.
    send_to_queue(&pair, &mut claude, MAIL);
    is_late.open();
    let had = |request: &ModelRequest| request.is_step() && request.mentions(PACKET);
    let request = pair.responses.wait_for_request("the packet", had);
    assert!(!request.mentions(MAIL), "{request:#?}");
    assert_eq!(request.turn, first.turn, "in the same turn");
    for words in STATED.into_iter().chain([HANDED_OFF, PACKET]) {
        assert_eq!(request.count_of(words), 1, "{words}: {request:#?}");
    }
    wait_packets(&pair, "compacted", "given", 1);
    let next = pair.responses.wait_for_request("the mail", |request| {
        request.is_step() && request.mentions(MAIL)
    });
    assert_eq!(next.count_of(PACKET), 1, "{next:#?}");
    wait_packets(&pair, "compacted", "offered", 1);
    assert_eq!(events(&pair, "context_compacted").len(), 1);
    verify(&pair);
}

/// Has git wait for as long as this file is there, so that a packet takes its time.
fn slow_git(pair: &Pair) -> std::path::PathBuf {
    let git = pair.project.program("git").program;
    let hold = pair.project.base().join("git-waits");
    let (git, file) = (git.display(), hold.display());
    let script = format!(
        "#!/bin/sh\nn=0\nwhile [ -e '{file}' ] && [ $n -lt 600 ]; do n=$((n + 1)); sleep 0.05; \
         done\nexec '{git}' \"$@\"\n"
    );
    write_program(&pair.project.bin().join("git"), &script);
    hold
}

#[test]
fn a_packet_whose_app_server_is_killed_before_it_comes_once_or_is_said_not_to_have_come() {
    const MAIL: &str = "go on after it";
    let Some(pair) = Pair::new() else { return };
    let git_waits = slow_git(&pair);
    let _daemon = pair.daemon();
    state(&pair);
    let mut codex = attached_codex(&pair);
    wait_in_thread(&pair, BEGINS, 1);
    first_turn(&pair, &mut codex, 40_000);
    let before = status(&pair)["agents"]["codex"].clone();
    let app_server = i32::try_from(before["appServer"]["pid"].as_i64().unwrap()).unwrap();
    let sums_up = Gate::new("the model sums up");
    pair.responses.hold_compaction(&sums_up);
    codex.submit("/compact");
    sums_up.wait_arrived();
    std::fs::write(&git_waits, "").unwrap();
    sums_up.open();
    wait_until("the compaction's entry", timeout(), || {
        (events(&pair, "context_compacted").len() == 1).then_some(())
    });
    kill_process(Pid::from_raw(app_server).unwrap(), Signal::KILL).unwrap();
    std::fs::remove_file(git_waits).unwrap();
    drop(codex);
    wait_packets(&pair, "compacted", "offered", 1);
    wait_status(&pair, "another app-server", |status| {
        let codex = &status["agents"]["codex"];
        codex["appServer"]["pid"].is_u64()
            && codex["appServer"]["pid"] != before["appServer"]["pid"]
            && codex["threadId"] == before["threadId"]
            && codex["state"] == "idle"
    });

    let mut claude = McpClient::start(&pair.ctxrelay(["bridge"]));
    claude.tool("reply", json!({"text": MAIL}));
    let request = pair
        .responses
        .wait_for_request("the next request", |request| {
            request.is_step() && request.mentions(MAIL)
        });
    let became = became(&pair);
    let came = request.count_of(PACKET);
    match became.as_str() {
        "given" => assert_eq!(came, 1, "{request:#?}"),
        "not_given" => assert_eq!(came, 0, "{request:#?}"),
        other => panic!("{other}: {request:#?}"),
    }
    wait_packets(&pair, "compacted", "offered", 1);
    // The operator is told the same.
    wait_until("the same word for the operator", timeout(), || {
        let told: Value = run(&pair.ctxrelay(["recover", "--json"])).json();
        (told["packets"]["codex"]["state"] == became).then_some(())
    });
    verify(&pair);
}

#[test]
fn a_codex_that_is_taken_up_again_is_told_in_short_once_what_the_record_holds() {
    let Some(pair) = Pair::new() else { return };
    let daemon = pair.daemon();
    let mut codex = attached_codex(&pair);
    first_turn(&pair, &mut codex, 40_000);
    // Said after its beginning, of which it was told nothing.
    state(&pair);
    hand_off(&pair);
    let idle = wait_status(&pair, "an idle Codex", |status| {
        status["agents"]["codex"]["state"] == "idle"
    });
    drop(codex);
    daemon.stop();
    let told = run(&pair.ctxrelay(["recover", "--json"]))
        .expect_success()
        .json();

    let _daemon = pair.daemon();
    let words = arguments(&told, "codex");
    let mut codex = Pty::spawn(&pair.ctxrelay(words.iter().map(String::as_str))).labelled("codex");
    codex.wait_for_text("The scale is set up.");
    wait_status(&pair, "Codex's terminal", |status| {
        status["agents"]["codex"]["tui"] == true && status["agents"]["codex"]["state"] == "idle"
    });
    // Ahead of the prompt, and while no turn runs.
    wait_in_thread(&pair, RESUMED, 1);
    for (prompt, answer) in [
        ("where were you", "At the pears."),
        ("and what is next", "The first basket."),
    ] {
        pair.responses
            .when(says(prompt))
            .once()
            .reply(Reply::text(answer));
        codex.submit(prompt);
        codex.wait_for_text(answer);
        rests(&mut codex, prompt, 1);
        let request = pair
            .responses
            .wait_for_request("the resumed one", |request| {
                request.is_step() && request.mentions(prompt)
            });
        for words in STATED.into_iter().chain([HANDED_OFF, RESUMED]) {
            assert_eq!(request.count_of(words), 1, "{words}: {request:#?}");
        }
        let thread = idle["agents"]["codex"]["threadId"].as_str();
        assert_eq!(request.conversation.as_deref(), thread);
    }
    wait_packets(&pair, "resumed", "given", 1);
    wait_packets(&pair, "resumed", "offered", 1);
    verify(&pair);
}
