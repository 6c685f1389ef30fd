//! Processes that die or fail on the way, two that want to go on at once, and files that somebody
//! else holds.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::child::{is_alive, run};
use crate::support::daemon::Daemon;
use crate::support::hand_over::{
    LockWatch, Tidy, end_daemon, expect_sound, of_type, pid, script, status, successor,
};
use crate::support::mcp::McpClient;
use crate::support::operator::Operator;
use crate::support::privileged;
use crate::support::project::Project;
use crate::support::small_disk::SmallDisk;
use crate::support::wait::{timeout, wait_until};
use crate::support::ws::RpcSocket;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ctxrelay");

/// From the moment in which the daemon begins to leave, in ms. The way takes some 30 ms here, so
/// that these fall before, between and behind all of its steps.
const KILLED_AFTER_MS: [u64; 10] = [0, 2, 5, 9, 14, 20, 28, 40, 60, 120];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Before,
    Successor,
}

/// `ctxrelay`, which writes its process id down first.
fn named_successor(project: &Project) -> (PathBuf, PathBuf) {
    let named = project.base().join("successor.pid");
    let text = format!("echo $$ >{}\nexec {PROGRAM} \"$@\"", named.display());
    (script(project, &text), named)
}

#[track_caller]
fn read_pid(path: &Path) -> u32 {
    wait_until("the successor's process id", timeout(), || {
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    })
}

fn kill(pid: u32) {
    // It may have ended by itself a moment ago.
    let _ = kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL);
}

fn count(notes: &[Value], text: &str) -> usize {
    notes.iter().filter(|note| note["content"] == text).count()
}

/// Writes notes until one is answered: a call into a process that was just killed is not, and says
/// that it may have taken effect.
#[track_caller]
fn note_that_is_answered(claude: &mut McpClient) -> String {
    let mut tried = 0;
    wait_until("an answered note", timeout(), || {
        tried += 1;
        let text = format!("after {tried}");
        let answer = claude.call_tool("append_note", json!({"text": text}));
        (!answer.is_error).then_some(text)
    })
}

/// Kills one of the two processes some time after the daemon has begun to leave. Whoever goes on,
/// or nobody: what was acknowledged is recorded once, and an agent works on by itself.
fn killed(victim: Victim, after_ms: u64) {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let mut daemon = project.daemon();
    let before = daemon.pid();
    let mut operator = Operator::connect(&project);
    let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
    claude.tool("append_note", json!({"text": "before"}));
    let (program, named) = named_successor(&project);
    let during = claude.begin_tool("append_note", json!({"text": "during"}));
    operator.hand_over(program).unwrap();
    let successor = read_pid(&named);
    std::thread::sleep(Duration::from_millis(after_ms));
    match victim {
        Victim::Before => kill(before),
        Victim::Successor => kill(successor),
    }
    let during = claude.tool_result(&during);
    let after = note_that_is_answered(&mut claude);

    let owner = pid(&status(&project));
    wait_until("only the owner to be left", timeout(), || {
        daemon.child().try_exit();
        let others = [before, successor].into_iter().filter(|pid| *pid != owner);
        others.into_iter().all(|pid| !is_alive(pid)).then_some(())
    });
    let notes = of_type(&project, "note");
    assert_eq!(count(&notes, "before"), 1, "{notes:#?}");
    assert_eq!(count(&notes, &after), 1, "{notes:#?}");
    // One that heard of no answer may be recorded; one that did is.
    let recorded = count(&notes, "during");
    assert!(recorded <= 1, "{notes:#?}");
    assert!(recorded == 1 || during.is_error, "{during:?}");
    expect_sound(&project);
    end_daemon(&project);
}

#[test]
fn the_daemon_before_is_killed_at_any_moment() {
    for after_ms in KILLED_AFTER_MS {
        killed(Victim::Before, after_ms);
    }
}

#[test]
fn the_successor_is_killed_at_any_moment() {
    for after_ms in KILLED_AFTER_MS {
        killed(Victim::Successor, after_ms);
    }
}

#[test]
fn a_daemon_that_is_killed_before_its_successor_speaks_leaves_no_second_owner() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let mut daemon = project.daemon();
    let mut operator = Operator::connect(&project);
    let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
    claude.tool("append_note", json!({"text": "before"}));
    let (named, go) = (
        project.base().join("successor.pid"),
        project.base().join("go"),
    );
    let text = format!(
        "echo $$ >{}\nwhile [ ! -e {} ]; do sleep 0.01; done\nexec {PROGRAM} \"$@\"",
        named.display(),
        go.display()
    );
    let program = script(&project, &text);
    std::thread::scope(|scope| {
        // The answer never comes: the connection ends with the daemon.
        let asked = scope.spawn(|| operator.begin_hand_over(&program));
        let successor = read_pid(&named);
        daemon.crash();
        asked.join().unwrap();
        // The bridge has a daemon again before the late one speaks, and that one gets nothing.
        note_that_is_answered(&mut claude);
        let owner = pid(&status(&project));
        let watch = LockWatch::start(&project);
        std::fs::write(&go, "").unwrap();
        wait_until("the late successor's end", timeout(), || {
            (!is_alive(successor)).then_some(())
        });
        assert_eq!(pid(&status(&project)), owner);
        watch.expect_never_free();
    });
    expect_sound(&project);
    end_daemon(&project);
}

#[test]
fn a_successor_that_fails_or_lies_gets_nothing() {
    for word in [
        r#"{"failed":{"code":"ledger","message":"no luck"}}"#,
        r#"{"format":2,"version":"x"}"#,
        "",
    ] {
        let project = Project::new();
        let _tidy = Tidy(&project);
        let daemon = project.daemon();
        let mut operator = Operator::connect(&project);
        let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
        let taken = project.base().join("taken");
        let then = format!(
            "head -c 64 >{}\nprintf '%s\\n' '{word}' >&0\ncat >/dev/null",
            taken.display()
        );
        let program = successor(&project, r#"{"format":2,"version":"x"}"#, &then);
        let watch = LockWatch::start(&project);
        operator.hand_over(program).unwrap();
        wait_until("the successor to have the takeover", timeout(), || {
            taken.exists().then_some(())
        });
        claude.tool("append_note", json!({"text": "after"}));
        assert_eq!(pid(&status(&project)), daemon.pid(), "{word}");
        watch.expect_never_free();
        expect_sound(&project);
    }
}

#[test]
fn of_two_that_want_to_go_on_at_once_one_does() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let mut daemon = project.daemon();
    let before = daemon.pid();
    let mut operators = [Operator::connect(&project), Operator::connect(&project)];
    let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
    claude.tool("append_note", json!({"text": "before"}));
    let watch = LockWatch::start(&project);
    std::thread::scope(|scope| {
        let asked: Vec<_> = operators
            .iter_mut()
            .map(|operator| scope.spawn(|| operator.begin_hand_over(PROGRAM)))
            .collect();
        let begun = asked.into_iter().map(|asked| asked.join().unwrap());
        // The other one hears a refusal, or that the daemon which it asked is gone.
        let begun = begun.filter(|answer| matches!(answer, Some(Ok(_)))).count();
        assert_eq!(begun, 1);
    });
    wait_until("the end of the process before", timeout(), || {
        daemon.child().try_exit()
    });
    claude.tool("append_note", json!({"text": "after"}));
    assert_ne!(pid(&status(&project)), before);
    watch.expect_never_free();
    assert_eq!(of_type(&project, "note").len(), 2);
    expect_sound(&project);
    end_daemon(&project);
}

#[test]
fn a_queue_that_somebody_else_writes_to_holds_nobody_up() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let mut daemon = project.daemon();
    let mut operator = Operator::connect(&project);
    let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
    let sent = claude.tool("reply", json!({"text": "before"}));
    let queue = rusqlite::Connection::open(project.state().join("state/queue.db")).unwrap();
    queue.execute_batch("BEGIN IMMEDIATE").unwrap();
    operator.hand_over(PROGRAM).unwrap();
    wait_until("the end of the process before", timeout(), || {
        daemon.child().try_exit()
    });
    claude.tool("append_note", json!({"text": "after"}));
    assert_ne!(pid(&status(&project)), daemon.pid());
    queue.execute_batch("ROLLBACK").unwrap();
    let waiting = project.run(["queue", "list", "--json"]).json().to_string();
    let id = sent["message_id"].as_str().unwrap();
    assert!(waiting.contains(id), "{waiting}");
    expect_sound(&project);
    end_daemon(&project);
}

#[test]
fn a_deck_that_hosts_says_at_once_that_it_must_be_left() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let mut deck = crate::support::pty::Pty::spawn(&project.ctxrelay([])).labelled("deck");
    deck.wait_for_text("● daemon");
    let mut operator = Operator::connect(&project);
    let refused = operator.hand_over(PROGRAM).unwrap_err();
    assert_eq!(refused.data["code"], "hosted_by_deck", "{refused:?}");
}

/// Room for a beginning, and no more.
const DISK_KIB: u32 = 600;

#[test]
fn on_a_full_disk_nothing_is_stopped_and_what_the_agents_did_is_recorded_once_there_is_room() {
    if !privileged::granted() {
        return;
    }
    let project = Project::without_git();
    std::fs::create_dir(project.state()).unwrap();
    // It is to run full, and not only low.
    let config = json!({"storage": {"lowWaterMegabytes": 0}});
    project.write(".contextrelay/config.json", &config.to_string());
    let disk = SmallDisk::over(&project, &project.state(), DISK_KIB);
    let mut daemon = Daemon::start(&disk.launch(&project.ctxrelay(["daemon"])));
    let outside = |path: &str| disk.outside(&project.state().join(path));
    let on_disk = |args: &[&str]| run(&disk.launch(&project.ctxrelay(args.iter().copied())));
    let status = || on_disk(&["status", "--json"]).expect_success().json();
    let mut operator = Operator::connect(&project);
    let token = std::fs::read_to_string(outside("state/claude-token")).unwrap();
    let url = format!("ws://127.0.0.1:{}/ws", project.ports.control);
    let mut hook = RpcSocket::open(&url, Some(token.trim_end()), &[]).unwrap();
    hook.expect(
        "hello",
        json!({"protocol": 1, "role": "hook", "pid": 4_000_000}),
    );
    let paths: Vec<String> = (0..45)
        .map(|n| format!("src/{}/{n}.rs", "a_folder_with_a_long_name".repeat(8)))
        .collect();
    for path in &paths {
        let path = project.root().join(path);
        let params =
            json!({"event": "PostToolUse", "claudePid": null, "tool": "Write", "path": path});
        hook.expect("hook/report", params);
    }
    let ballast = outside("ballast");
    for _ in 0..3 {
        // Takes what there is and then fails: nothing is free any more.
        std::fs::write(&ballast, vec![0; DISK_KIB as usize * 1024]).unwrap_err();
        let refused = operator.hand_over(PROGRAM).unwrap_err();
        let why = format!("{} {}", refused.message, refused.data);
        assert!(why.contains("No space left"), "{why}");
        std::fs::remove_file(&ballast).unwrap();
        assert_eq!(pid(&status()), daemon.pid());
    }
    operator.hand_over(PROGRAM).unwrap();
    wait_until("the end of the process before", timeout(), || {
        daemon.child().try_exit()
    });
    let next = status();
    let ledger = PathBuf::from(next["ledger"]["path"].as_str().unwrap());
    let recorded = std::fs::read_to_string(disk.outside(&ledger)).unwrap();
    for once in [
        "a_folder_with_a_long_name/44.rs",
        "hands over to another process",
    ] {
        assert_eq!(recorded.matches(once).count(), 1, "{once}: {recorded}");
    }
    kill_process(
        Pid::from_raw(pid(&next).cast_signed()).unwrap(),
        Signal::TERM,
    )
    .unwrap();
    wait_until("the daemon's end", timeout(), || {
        (!is_alive(pid(&next))).then_some(())
    });
}
