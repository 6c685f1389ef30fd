//! The operator's rules for the agents, as the real ones meet them.

use serde_json::{Value, json};

use crate::pair::{attached_codex, status, verify, wait_attached, wait_status};
use crate::support::child::run;
use crate::support::claude_home;
use crate::support::model_request::{says, tool_said};
use crate::support::operator::Operator;
use crate::support::pair::Pair;
use crate::support::panes::wait_for_waiting;
use crate::support::pty::{Key, Pty};
use crate::support::script::{Reply, ToolCall};
use crate::support::wait::{timeout, wait_until};

const COMMIT: &str = "git -C . commit --allow-empty -m";

/// The commits, newest first. The project begins with one.
fn subjects(pair: &Pair) -> Vec<String> {
    let log = pair.project.git(&["log", "--format=%s"]);
    log.lines().map(str::to_owned).collect()
}

/// Whoever runs git in the project has a name.
fn with_name(pair: &Pair) {
    pair.project.git(&["config", "user.name", "Somebody"]);
    pair.project
        .git(&["config", "user.email", "somebody@example.org"]);
}

#[track_caller]
fn coordinator(operator: &mut Operator, to: &str) -> Value {
    let change = json!({"change": "coordinator", "to": to});
    operator.call("policy/set", change).unwrap()
}

/// Claude in its terminal, which its person lets run git without asking.
#[track_caller]
fn claude_with_git(pair: &Pair) -> Pty {
    let settings = json!({"permissions": {"allow": ["Bash(git:*)"]}});
    std::fs::write(pair.claude_home.settings(), settings.to_string()).unwrap();
    let launch = pair.ctxrelay(["claude", "--permission-mode", "default"]);
    let mut claude = Pty::spawn(&launch).labelled("claude");
    claude.wait_for_text(claude_home::COMPOSER);
    wait_attached(pair);
    claude
}

fn refused(pair: &Pair) -> Vec<String> {
    let lines = pair.project.ledger().into_iter();
    lines
        .filter(|line| line["runtimeEvent"]["event"] == "tool_refused")
        .map(|line| line["content"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn claude_is_refused_asked_or_let_as_the_coordinator_of_the_moment_has_it() {
    let Some(pair) = Pair::new() else { return };
    with_name(&pair);
    let _daemon = pair.daemon();
    let mut operator = Operator::connect(&pair.project);
    coordinator(&mut operator, "codex");
    let mut claude = claude_with_git(&pair);
    claude_leaves_git_to_the_coordinator_and_its_person_does_not(&pair, &mut operator, &mut claude);
    // What is typed before the turn has ended may come in another order.
    let idle = || {
        wait_status(&pair, "an idle Claude", |status| {
            status["agents"]["claude"]["state"] == "idle"
        })
    };
    idle();
    coordinator(&mut operator, "human");
    what_cannot_be_judged_is_asked_and_the_person_may_say_yes(&pair, &mut claude);
    idle();
    what_is_no_command_leaves_git_alone_too(&pair, &mut claude);
    verify(&pair);
}

fn claude_leaves_git_to_the_coordinator_and_its_person_does_not(
    pair: &Pair,
    operator: &mut Operator,
    claude: &mut Pty,
) {
    for (prompt, command) in [
        ("commit it", format!("{COMMIT} by-claude")),
        (
            "look at it",
            "git status --short && echo seen-$((40+2))".to_owned(),
        ),
        (
            "commit it now",
            format!("{COMMIT} now-by-claude && echo made-$((40+2))"),
        ),
    ] {
        let call = Reply::shell(&command);
        pair.messages.when(says(prompt)).once().reply(call);
    }
    let denied = "PreToolUse:Bash hook error: ctxrelay: `git commit` writes to git, and writing to \
                  git is Codex's alone here";
    let denied = pair.messages.when(tool_said(denied));
    denied.once().reply(Reply::text("Left to Codex."));
    let looked = pair.messages.when(tool_said("seen-42"));
    looked.once().reply(Reply::text("Looked at it."));
    let made = pair.messages.when(tool_said("made-42"));
    made.once().reply(Reply::text("Committed it."));

    claude.submit("commit it");
    claude.wait_for_text("Left to Codex.");
    assert_eq!(subjects(pair).len(), 1);
    let told = wait_until("the refusal in the record", timeout(), || {
        refused(pair).pop()
    });
    assert!(told.contains("`git commit` writes to git"), "{told}");
    let rules = &status(pair)["policy"]["rules"];
    assert_eq!(rules[0]["agent"], "claude");
    assert_eq!(rules[0]["enforced"], true, "{rules}");

    claude.submit("look at it");
    claude.wait_for_text("Looked at it.");
    // The person's own command, in Claude's terminal.
    claude.press(Key::Char('!'));
    claude.submit(&format!("{COMMIT} by-the-person"));
    wait_until("the person's commit", timeout(), || {
        (subjects(pair).len() == 2).then_some(())
    });
    assert_eq!(subjects(pair)[0], "by-the-person");

    coordinator(operator, "claude");
    claude.submit("commit it now");
    claude.wait_for_text("Committed it.");
    assert_eq!(subjects(pair)[0], "now-by-claude");
    assert_eq!(refused(pair).len(), 1);
}

/// As Claude's own shell can write it, in the session or before it.
#[test]
fn a_line_that_switches_hooks_off_takes_no_rule_away_from_a_claude_that_ctxrelay_started() {
    let Some(pair) = Pair::new() else { return };
    with_name(&pair);
    let _daemon = pair.daemon();
    let mut operator = Operator::connect(&pair.project);
    coordinator(&mut operator, "human");
    let file = pair.project.root().join(".claude/settings.local.json");
    let denied = "PreToolUse:Bash hook error: ctxrelay: `git commit` writes to git";
    for (prompt, is_there) in [("switch them off", false), ("commit it at once", true)] {
        if !is_there {
            let text = r#"{"disableAllHooks": true}"#;
            let command = format!(
                "mkdir -p .claude && echo '{text}' > {} && echo is-$((40+2))",
                file.display()
            );
            let call = Reply::shell(&command);
            pair.messages.when(says(prompt)).once().reply(call);
            let written = pair.messages.when(tool_said("is-42"));
            written
                .once()
                .reply(Reply::shell(&format!("{COMMIT} in-spite-of-it")));
        } else {
            let call = Reply::shell(&format!("{COMMIT} in-spite-of-it"));
            pair.messages.when(says(prompt)).once().reply(call);
        }
        let refused = pair.messages.when(tool_said(denied));
        refused.once().reply(Reply::text("Left to the person."));
        let settings = json!({"permissions": {"allow": ["Bash"]}});
        std::fs::write(pair.claude_home.settings(), settings.to_string()).unwrap();
        let launch = pair.ctxrelay(["claude", "--permission-mode", "default"]);
        let mut claude = Pty::spawn(&launch).labelled("claude");
        claude.wait_for_text(claude_home::COMPOSER);
        wait_attached(&pair);
        claude.submit(prompt);
        if !is_there {
            // Claude asks for what is written there, unless its person has it not ask.
            claude.wait_for_text("Do you want to proceed?");
            claude.enter_until_gone("Do you want to proceed?");
        }
        claude.wait_for_text("Left to the person.");
        assert!(file.is_file());
        assert_eq!(subjects(&pair).len(), 1);
        wait_status(&pair, "an enforced rule", |status| {
            status["policy"]["rules"][0]["enforced"] == true
        });
    }
    verify(&pair);
}

fn what_cannot_be_judged_is_asked_and_the_person_may_say_yes(pair: &Pair, claude: &mut Pty) {
    let before = refused(pair).len();
    // By its text it may be anything.
    let command = "TOOL=git; $TOOL status --short && echo ran-$((40+2))";
    pair.messages
        .when(says("run the tool"))
        .once()
        .reply(Reply::shell(command));
    pair.messages
        .when(tool_said("ran-42"))
        .reply(Reply::text("It ran."));
    claude.submit("run the tool");
    claude.wait_for_text("ctxrelay: it may write to git");
    assert_eq!(refused(pair).len(), before);
    claude.enter_until_gone("Do you want to proceed?");
    claude.wait_for_text("It ran.");
}

fn what_is_no_command_leaves_git_alone_too(pair: &Pair, claude: &mut Pty) {
    let helper = json!({"description": "Look at it", "prompt": "Look at the lock.",
        "isolation": "worktree"});
    pair.messages
        .when(says("start a helper"))
        .once()
        .reply(Reply::call(ToolCall::named("Agent", helper)));
    let denied = "PreToolUse:Agent hook error: ctxrelay: its helper gets a work tree of git";
    pair.messages
        .when(tool_said(denied))
        .once()
        .reply(Reply::text("Then without one."));
    claude.submit("start a helper");
    claude.wait_for_text("Then without one.");
    let trees = pair.project.git(&["worktree", "list"]);
    assert_eq!(trees.lines().count(), 1, "{trees}");
}

#[test]
fn codex_reads_the_rule_in_its_instructions_and_the_deck_shows_it_on_what_codex_asks() {
    let Some(pair) = Pair::new() else { return };
    with_name(&pair);
    let theirs = pair.project.root().join("AGENTS.md");
    std::fs::write(&theirs, "# Ours\n").unwrap();
    run(&pair.ctxrelay(["init", "--yes"])).expect_success();
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    deck.press_until(Key::Char('c'), "the question", |screen| {
        screen.contains("Who alone writes to git?")
    });
    // It stands on what counts now: nobody.
    for _ in 0..3 {
        deck.press(Key::Up);
    }
    deck.wait_for_screen("Claude", |screen| screen.contains("▸ Claude"));
    deck.press(Key::Enter);
    deck.wait_for_text("AGENTS.md says so");
    let text = std::fs::read_to_string(&theirs).unwrap();
    assert!(
        text.starts_with("# Ours\n") && text.contains("Claude alone writes to git"),
        "{text}"
    );

    let asks = ToolCall::escalated(&format!("{COMMIT} by-codex"), "it is done");
    let commit = pair.responses.when(says("commit it"));
    commit.once().reply(Reply::call(asks));
    let mut codex = attached_codex(&pair);
    codex.submit("commit it");
    wait_for_waiting(&mut deck);
    deck.press(Key::Char('3'));
    deck.press_until(Key::Enter, "the card", |screen| {
        screen.contains("esc later")
    });
    deck.wait_for_text("writes to git: git commit");
    deck.wait_for_text("(ADVISORY)");
    let requests = pair.responses.requests();
    let first = requests
        .iter()
        .find(|request| request.mentions("commit it"));
    assert!(first.unwrap().mentions("Claude alone writes to git here"));
    assert_eq!(subjects(&pair).len(), 1);
    verify(&pair);
}
