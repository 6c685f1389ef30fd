//! What the command line says: whole sentences that name the right thing, before anything is done.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::time::{SystemTime, UNIX_EPOCH};

use ctxrelay::core::agent::{Agent, AgentState};
use ctxrelay::core::entry::TurnStatus;
use ctxrelay::store::dirs::ProjectDirs;
use serde_json::{Value, json};

use crate::support::child::{Finished, run};
use crate::support::launch::Launch;
use crate::support::mcp::McpClient;
use crate::support::project::{Project, names};
use crate::support::pty::Pty;
use crate::support::record::{Record, RecordEnd};
use crate::support::wait::{timeout, wait_until};

#[track_caller]
fn refused(finished: &Finished) -> (i32, String, String) {
    let error = &finished.json()["error"];
    let word = |name: &str| error[name].as_str().unwrap().to_owned();
    (finished.code(), word("code"), word("hint"))
}

/// Types `word` at the prompt; the exit code and the screen.
#[track_caller]
fn typed(launch: &Launch, prompt: &str, word: &str) -> (u32, String) {
    let mut pty = Pty::spawn(launch);
    pty.wait_for_text(prompt);
    pty.type_text(&format!("{word}\r"));
    (pty.wait_exit(), pty.screen())
}

#[test]
fn a_folder_whose_name_is_no_text_is_refused_before_anything_is_made() {
    let project = Project::without_git();
    let odd = project.root().join(OsStr::from_bytes(b"bad\xff"));
    std::fs::create_dir(&odd).unwrap();
    for args in [
        &["init", "--yes"][..],
        &["daemon"],
        &["daemon", "--detach"],
        &["status"],
        &["doctor"],
        &["recover"],
        &["capsule", "list"],
        &["claude", "--dry-run"],
        &["kill"],
    ] {
        let args = ["--json"].iter().chain(args).copied();
        let launch = project.ctxrelay(args).cwd(&odd);
        let (code, word, _) = refused(&run(&launch));
        assert_eq!((code, word.as_str()), (3, "path_not_utf8"), "{launch:?}");
    }
    let elsewhere = run(&project.ctxrelay(["instances"]).cwd(&odd)).expect_success();
    assert!(
        elsewhere.stderr.contains("no projects yet"),
        "{elsewhere:?}"
    );
    let named = project.ctxrelay(["status", "--project"]).arg(&odd);
    let named = run(&named);
    assert_eq!(named.code(), 3);
    assert!(named.stderr.contains("is not text in UTF-8"), "{named:?}");
    let mut deck = Pty::spawn(&project.ctxrelay([]).cwd(&odd));
    assert_eq!(deck.wait_exit(), 3, "{}", deck.screen());
    assert!(deck.shows("is not text in UTF-8"), "{}", deck.screen());
    assert_eq!(std::fs::read_dir(&odd).unwrap().count(), 0);
    assert_eq!(names(&project.registry()), Vec::<String>::new());
}

#[test]
fn a_folder_that_can_have_no_plugin_is_refused_before_anything_is_made() {
    let project = Project::without_git();
    let odd = project.root().join("bad\tname");
    std::fs::create_dir(&odd).unwrap();
    for args in [
        &["init", "--yes"][..],
        &["claude", "--dry-run"],
        &["claude"],
    ] {
        let args = ["--json"].iter().chain(args).copied();
        let launch = project.ctxrelay(args).cwd(&odd);
        let (code, word, _) = refused(&run(&launch));
        assert_eq!((code, word.as_str()), (3, "plugin"), "{launch:?}");
    }
    assert_eq!(std::fs::read_dir(&odd).unwrap().count(), 0);
    assert_eq!(names(&project.registry()), Vec::<String>::new());
}

#[test]
fn a_file_may_go_out_under_a_name_that_is_no_text() {
    let project = Project::new();
    project.daemon().stop();
    let out = project.base().join(OsStr::from_bytes(b"out\xff.jsonl"));
    let export = project.ctxrelay(["ledger", "export", "--json", "-o"]);
    let told = run(&export.arg(&out)).expect_success().json();
    assert!(
        told["output"].as_str().unwrap().contains("out\u{fffd}"),
        "{told}"
    );
    assert!(out.metadata().unwrap().len() > 0);
}

#[test]
fn a_handoff_that_nobody_got_is_listed_apart_and_counts_as_open_nowhere() {
    let project = Project::new();
    let record = Record::of(64);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let mut end = RecordEnd::of(&record, i64::try_from(now.as_millis()).unwrap());
    end.settle(&record);
    let open = end.handoff(Agent::Claude, "check the parser");
    let never_had = end.taken_back(Agent::Claude, "delete the branch");
    let waits = end.waiting(Agent::Claude, "sort the plums");
    record.lay_with(&ProjectDirs::new(project.root().to_owned(), None), end);
    let _daemon = project.daemon();
    let remove = project.ctxrelay(["queue", "remove", waits.as_str(), "--apply"]);
    let (code, screen) = typed(&remove, "to go on, anything else", "remove");
    assert_eq!(code, 0, "{screen}");
    let told: String = screen.split_whitespace().collect();
    assert!(
        told.contains("untilyoucloseit:`ctxrelayhandoffclose"),
        "{screen}"
    );

    let told = project.run(["recover", "--json"]).expect_success().json();
    let ids = |key: &str| -> Vec<Value> {
        let of = told[key].as_array().unwrap();
        of.iter().map(|handoff| handoff["id"].clone()).collect()
    };
    let (listed, apart) = (ids("openHandoffs"), ids("handoffsNobodyGot"));
    // In a copied record nobody can know whether what waited there was given.
    for id in [&open, &waits] {
        assert!(listed.contains(&json!(id)), "{told}");
    }
    assert_eq!(apart, [json!(never_had)]);
    assert!(!listed.contains(&json!(never_had)), "{told}");
    let status = project.run(["status", "--json"]).expect_success().json();
    assert_eq!(status["handoffs"]["open"], listed.len());
    let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
    let board = claude.tool("task_state", json!({"scope": "all"}));
    assert_eq!(board["open_handoffs_total"], listed.len(), "{board}");
    let printed = project.run(["recover"]).expect_success().stdout;
    for words in [
        format!("Open handoffs  {}\n", listed.len()),
        format!("`ctxrelay handoff close ID` ends one)  {}\n", apart.len()),
    ] {
        assert!(printed.contains(&words), "{printed}");
    }
}

#[test]
fn recover_tells_what_a_crash_cut_off() {
    let project = Project::new();
    let record = Record::of(64);
    let mut end = RecordEnd::of(&record, 1_795_000_100_000);
    end.settle(&record);
    // One that came to its end, and one that did not, with a message and a request in it.
    end.turn("turn-1", TurnStatus::InProgress, "look around");
    end.turn("turn-1", TurnStatus::Completed, "look around");
    let message = end.message(Agent::Claude, "wait a minute");
    end.turn("turn-2", TurnStatus::InProgress, "wait for the build");
    end.in_turn(&message, "turn-2");
    let asked = end.asks("rm -r build");
    end.is(Agent::Claude, AgentState::Busy);
    end.is(Agent::Claude, AgentState::Offline);
    end.is(Agent::Claude, AgentState::Idle);
    end.is(Agent::Claude, AgentState::Offline);
    record.lay_with(&ProjectDirs::new(project.root().to_owned(), None), end);

    let check = |told: &Value| {
        let turns = told["interruptedTurns"].as_array().unwrap();
        let mut turns: Vec<(&str, &str)> = turns
            .iter()
            .map(|turn| (turn["by"].as_str().unwrap(), turn["why"].as_str().unwrap()))
            .collect();
        turns.sort_unstable();
        let (left, ended) = ("its program ended in it", "the daemon ended in it");
        assert_eq!(turns, [("claude", left), ("codex", ended)], "{told}");
        assert_eq!(told["cutOff"][0]["id"], json!(message), "{told}");
        assert_eq!(told["cutOff"].as_array().unwrap().len(), 1, "{told}");
        assert_eq!(told["unansweredApprovals"][0]["id"], json!(asked), "{told}");
        assert_eq!(told["pendingApprovals"], json!([]), "{told}");
    };
    let prompt = project.run(["recover", "--prompt", "claude"]);
    let prompt = prompt.expect_success().stdout;
    assert!(!prompt.contains("Codex works on"), "{prompt}");
    // From what the crash left, and once another daemon has begun after it.
    check(&project.run(["recover", "--json"]).expect_success().json());
    let listed = project.run(["queue", "list", "--json"]).json();
    let row = &listed["messages"][0];
    assert_eq!(
        (&row["id"], &row["state"]),
        (&json!(message), &json!("cut_off"))
    );
    let status = project.run(["status", "--json"]).json();
    assert_eq!(status["agents"]["codex"]["cutOff"], 1, "{status}");
    for _ in 0..2 {
        project.daemon().stop();
    }
    let _daemon = project.daemon();
    check(&project.run(["recover", "--json"]).expect_success().json());
    // The record itself says once that both are over.
    let ends = |key: &str, id: &str| -> Vec<String> {
        let lines = project.ledger();
        let events = lines.iter().map(|line| &line["runtimeEvent"]);
        let is_its = |event: &&Value| event[key] == *id && event["kind"] != "message_delivery";
        let its = events.filter(is_its);
        let status = its.map(|event| event["status"].as_str().unwrap().to_owned());
        status.collect()
    };
    assert_eq!(ends("turnId", "turn-2"), ["inProgress", "interrupted"]);
    assert_eq!(ends("approvalId", asked.as_str()), ["asked", "lost"]);
    let printed = project.run(["recover"]).expect_success().stdout;
    for words in [
        "Interrupted turns  2",
        "Codex: the daemon ended in it: wait for the build",
        "Claude: its program ended in it",
        "Cut off  1",
        "claude → codex: its turn ended early; `ctxrelay queue retry ID --apply` sends it again, \
         `queue remove ID --apply` gives it up",
        "Asked, and waits for you  0",
        "Asked, and cut off before an answer  1",
        "Codex asked to run a command: rm -r build",
        // What ran when the daemon was lost, nobody has told: that is not the same as nothing.
        "Commands without an end  0 known",
        "is in no record",
    ] {
        assert!(printed.contains(words), "no {words:?} in {printed}");
    }
}

#[test]
fn recover_tells_a_turn_of_claudes_that_went_with_its_daemon_unless_that_claude_lives() {
    // No process has this id, and this one has the other.
    let (gone, alive) = (7_000_000, std::process::id());
    let lay = |project: &Project, pid: u32, again: Option<u32>| {
        let record = Record::of(64);
        // A process that began later than it was named would be another one.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let now_ms = i64::try_from(now.as_millis()).unwrap();
        let mut end = RecordEnd::of(&record, now_ms);
        end.settle(&record);
        end.converses("0b6f3c1e", AgentState::Idle, Some(pid));
        end.converses("0b6f3c1e", AgentState::Busy, Some(pid));
        if again.is_some() {
            end.daemon_starts();
            end.converses("0b6f3c1e", AgentState::Idle, again);
        }
        record.lay_with(&ProjectDirs::new(project.root().to_owned(), None), end);
    };
    let told = |project: &Project| {
        let told = project.run(["recover", "--json"]).expect_success().json();
        let turns = told["interruptedTurns"].as_array().unwrap().iter();
        turns
            .map(|turn| (turn["by"].clone(), turn["why"].clone()))
            .collect::<Vec<_>>()
    };
    let why = "the daemon ended in it, and nobody told how it ended";
    let cut_off = [(json!("claude"), json!(why))];
    for (pid, again, expected) in [
        (gone, None, &cut_off[..]),
        (alive, None, &[]),
        // The same process came back to the next daemon, or another one took the conversation up.
        (gone, Some(gone), &[]),
        (gone, Some(gone - 1), &cut_off),
    ] {
        let project = Project::new();
        lay(&project, pid, again);
        assert_eq!(told(&project), expected, "{pid}, then {again:?}");
    }
    let project = Project::new();
    lay(&project, gone, None);
    let _daemon = project.daemon();
    // The record is read from the disk, where the daemon's first word comes a moment later.
    wait_until("the daemon's first word", timeout(), || {
        let lines = project.ledger();
        let mut said = lines.iter().filter_map(|line| line["content"].as_str());
        said.find(|said| said.starts_with("the daemon started"))
            .map(drop)
    });
    assert_eq!(told(&project), cut_off);
    let printed = project.run(["recover"]).expect_success().stdout;
    for words in ["Interrupted turns  1", "Commands without an end  0 known"] {
        assert!(printed.contains(words), "no {words:?} in {printed}");
    }
}

#[test]
fn what_a_claude_had_that_is_gone_is_cut_off_without_a_daemon_too() {
    // No process has this id, and this one has the other.
    for (pid, is_cut_off) in [(7_000_000, true), (std::process::id(), false)] {
        let project = Project::new();
        let daemon = project.daemon();
        let mut bridge = project.control_of("claude").unwrap();
        bridge.expect(
            "hello",
            json!({"protocol": 1, "role": "claude", "pid": 4_000_001, "agentPid": pid}),
        );
        let send = json!({"from": "codex", "text": "which lock is it"});
        let sent = project.agent("codex").expect("message/send", send);
        let (mut hook, id) = (project.agent("hook"), &sent["value"]["messageId"]);
        let prompt = json!({"event": "UserPromptSubmit", "claudePid": null});
        let given = hook.expect("hook/report", prompt);
        assert_eq!(given["value"]["ids"], json!([id]), "{given}");
        let handed = json!({"agent": "claude", "ids": [id], "rung": "hook"});
        hook.expect("hook/handed", handed);
        daemon.stop();

        let listed = project.run(["queue", "list", "--json"]).json();
        let rows = &listed["messages"];
        let state = if is_cut_off { "cut_off" } else { "confirmed" };
        assert_eq!((&rows[0]["id"], &rows[0]["state"]), (id, &json!(state)));
        let expected = if is_cut_off { json!([id]) } else { json!([]) };
        let recovered = project.run(["recover", "--json"]).json();
        let told = recovered["cutOff"].as_array().unwrap().iter();
        let told: Value = told.map(|message| message["id"].clone()).collect();
        assert_eq!(told, expected, "{recovered}");
        let status = project.run(["status", "--json"]).json();
        let claude = &status["agents"]["claude"];
        assert_eq!(claude["cutOff"], u64::from(is_cut_off), "{claude}");
    }
}

#[test]
fn recover_tells_what_waits_for_an_answer_with_and_without_a_daemon() {
    let project = Project::new();
    let daemon = project.daemon();
    let question = json!({"agent": "codex", "question": "May the old endpoint go?",
        "choices": [], "timeoutMs": 0});
    let asked = project.agent("codex").expect("user/ask", question);
    let check = || {
        let told = project.run(["recover", "--json"]).expect_success().json();
        let waiting = &told["pendingApprovals"];
        assert_eq!(waiting[0]["id"], asked["value"]["entryId"], "{told}");
        assert_eq!(waiting[0]["kind"], "user_question", "{told}");
        assert_eq!(told["unansweredApprovals"], json!([]), "{told}");
        let printed = project.run(["recover"]).expect_success().stdout;
        for words in [
            "Asked, and waits for you  1",
            "Codex asked you a question: May the old endpoint go?",
            "Asked, and cut off before an answer  0",
        ] {
            assert!(printed.contains(words), "no {words:?} in {printed}");
        }
    };
    let counted = || {
        let status = project.run(["status", "--json"]).expect_success().json();
        assert_eq!(status["approvals"]["pending"], 1, "{status}");
    };
    check();
    counted();
    daemon.stop();
    check();
    counted();
}

#[test]
fn who_approves_and_who_writes_to_git_is_told_on_stdout() {
    let project = Project::new();
    let told = |args: &[&str]| project.run(args.iter().copied()).expect_success();
    let check = || {
        let mode = told(&["finality", "mode"]);
        assert_eq!(mode.stdout, "mode manual: you alone approve\n");
        let mode = told(&["finality", "mode", "--json"]).json();
        assert_eq!(mode, json!({"mode": "manual"}));
        let coordinator = told(&["coordinator"]);
        assert!(
            coordinator.stdout.contains("nobody is the coordinator"),
            "{coordinator:?}"
        );
        let rules = told(&["permissions", "status"]);
        assert!(rules.stdout.contains("no rule is in force"), "{rules:?}");
    };
    check();
    let _daemon = project.daemon();
    check();
}

#[test]
fn a_pair_whose_claude_is_not_here_is_named_with_what_waits_for_it() {
    let project = Project::new();
    let _daemon = project.daemon();
    for pair in ["default", "two", "a;b"] {
        let mut codex = project.control_of("codex").unwrap();
        let hello = json!({
            "protocol": 1, "role": "codex", "pid": 4_000_000, "runtimeSessionId": pair,
        });
        codex.expect("hello", hello);
        codex.expect(
            "message/send",
            json!({"from": "codex", "text": "look at it"}),
        );
    }
    let status = project.run(["status", "--json"]).expect_success().json();
    let absent = json!([{"pair": "a;b", "unread": 1}, {"pair": "two", "unread": 1}]);
    assert_eq!(
        status["agents"]["claude"]["absentPairs"], absent,
        "{status}"
    );
    let told = project.run(["status"]).expect_success().stdout;
    for line in [
        "pair two: not here, 1 waiting; start it with `CONTEXTRELAY_RUNTIME_SESSION=two ctxrelay \
         claude`\n",
        // It is no word for a shell.
        "pair a;b: not here, 1 waiting\n",
    ] {
        assert!(told.contains(line), "{told}");
    }
}

#[test]
fn each_pair_recovers_its_own_work_and_is_told_of_the_others() {
    let project = Project::new();
    let daemon = project.daemon();
    let pairs = [
        ("default", "the login holds", "0b6f3c1e-7d52"),
        ("two", "the index is fast", "5c1d9a40-11aa"),
    ];
    for (pair, goal, conversation) in pairs {
        let come_in = |role: &str| {
            let mut socket = project.control_of(role).unwrap();
            let hello = json!({
                "protocol": 1, "role": role, "pid": 4_000_000, "runtimeSessionId": pair,
            });
            socket.expect("hello", hello);
            socket
        };
        let prompt = json!({
            "event": "UserPromptSubmit", "claudePid": null, "claudeSessionId": conversation,
        });
        come_in("hook").expect("hook/report", prompt);
        let mut codex = come_in("codex");
        let goal = json!({"agent": "codex", "kind": "goal", "text": goal});
        codex.expect("note/append", goal);
        let message = json!({"from": "codex", "text": "look at it", "requireReply": true});
        codex.expect("message/send", message);
    }
    daemon.stop();
    let of = |pair: &str, args: &[&str]| {
        let words = ["recover"].into_iter().chain(args.iter().copied());
        let recover = project.ctxrelay(words);
        run(&recover.env("CONTEXTRELAY_RUNTIME_SESSION", pair)).expect_success()
    };
    for [own, other] in [[pairs[0], pairs[1]], [pairs[1], pairs[0]]] {
        let told = of(own.0, &["--json"]).json();
        assert_eq!(told["pair"], own.0);
        assert_eq!(told["goal"]["text"], own.1, "{told}");
        let go_on = format!("ctxrelay claude --resume {}", own.2);
        assert_eq!(told["commands"]["claude"], go_on, "{told}");
        let others = told["otherPairs"].as_array().unwrap();
        assert_eq!(others.len(), 1, "{told}");
        assert_eq!(others[0]["pair"], other.0);
        for agent in ["claude", "codex"] {
            let resume = told["resume"][agent].as_str().unwrap();
            assert!(resume.contains(own.1), "{resume}");
            assert!(!resume.contains(other.1), "{resume}");
        }
        let undelivered = told["undelivered"].as_array().unwrap().iter();
        let mut waiting: Vec<_> = undelivered.map(|it| it["pair"].as_str().unwrap()).collect();
        waiting.sort_unstable();
        assert_eq!(waiting, ["default", "two"]);
        let printed = of(own.0, &[]).stdout;
        for words in [
            "codex → claude: pending".to_owned(),
            format!("codex → claude (pair {}): pending", other.0),
            format!("codex → claude (pair {}): look at it", other.0),
            format!(
                "{0}: `CONTEXTRELAY_RUNTIME_SESSION={0} ctxrelay recover`",
                other.0
            ),
            format!("after `{go_on}`"),
        ] {
            assert!(printed.contains(&words), "no {words:?} in {printed}");
        }
        assert!(!printed.contains(other.1), "{printed}");
    }
    // A pair that opens goes on in its own, where Claude still has that.
    let opened = |args: &[&str]| {
        let words = ["pair", "--dry-run"]
            .into_iter()
            .chain(args.iter().copied());
        let shown = run(&project.ctxrelay(words)).expect_success().stdout;
        shown.contains(&format!("claude --resume {}", pairs[0].2))
    };
    assert!(!opened(&[]), "Claude has no such conversation");
    let root = project.root().canonicalize().unwrap();
    let root = root.to_str().unwrap();
    let folder = root.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    let kept = project.home().join(".claude/projects").join(folder);
    std::fs::create_dir_all(&kept).unwrap();
    std::fs::write(kept.join(format!("{}.jsonl", pairs[0].2)), "{}\n").unwrap();
    assert!(opened(&[]));
    assert!(!opened(&["--new"]));
    let status = project.run(["status"]).expect_success().stdout;
    assert!(
        status.contains("`ctxrelay recover` says how to go on"),
        "{status}"
    );
    // One that has noted nothing is told what another one has, and whose that is.
    let told = of("three", &["--json"]).json();
    let goal = &told["goal"];
    assert_eq!(
        (&goal["text"], &goal["pair"]),
        (&json!(pairs[1].1), &json!("two"))
    );
    assert_eq!(told["commands"]["claude"], "ctxrelay claude");
    assert_eq!(told["otherPairs"].as_array().unwrap().len(), 2);
    let printed = of("three", &[]).stdout;
    assert!(printed.contains("by Codex (pair two)"), "{printed}");
}

#[test]
fn what_codex_is_at_is_told_in_every_pair_unless_that_has_a_codex_of_its_own() {
    let project = Project::new();
    let daemon = project.daemon();
    let goal = |pair: &str, role: &str, text: &str| {
        let mut socket = project.control_of(role).unwrap();
        let hello = json!({
            "protocol": 1, "role": role, "pid": 4_000_000, "runtimeSessionId": pair,
        });
        socket.expect("hello", hello);
        let goal = json!({"agent": role, "kind": "goal", "text": text});
        socket.expect("note/append", goal);
    };
    goal("default", "codex", "the login holds");
    goal("two", "claude", "the index is fast");
    goal("three", "codex", "the build is small");
    daemon.stop();
    let of = |pair: &str, args: &[&str]| {
        let told = project.ctxrelay(args.iter().copied());
        run(&told.env("CONTEXTRELAY_RUNTIME_SESSION", pair)).expect_success()
    };
    for (pair, codex, claude) in [
        ("two", "the login holds", json!("the index is fast")),
        ("three", "the build is small", json!(null)),
    ] {
        let status = of(pair, &["continuity", "status", "--json"]).json();
        let agents = &status["agents"];
        assert_eq!(agents["codex"]["objective"], codex, "{pair}");
        assert_eq!(agents["claude"]["objective"], claude, "{pair}");
        let held = of(pair, &["continuity", "objective", "--json"]).json();
        assert_eq!(held["codex"], codex, "{pair}");
        let shown = of(pair, &["continuity", "show", "codex"]).stdout;
        assert!(shown.contains(codex), "{pair}: {shown}");
        let resume = of(pair, &["recover", "--json"]).json()["resume"]["codex"].clone();
        assert!(resume.as_str().unwrap().contains(codex), "{pair}: {resume}");
    }
}

#[test]
fn recover_counts_all_of_what_it_shows_the_latest() {
    let project = Project::new();
    let record = Record::of(64);
    let mut end = RecordEnd::of(&record, 1_795_000_100_000);
    end.settle(&record);
    for number in 0..13 {
        let turn = format!("turn-{number}");
        end.turn(&turn, TurnStatus::InProgress, "look around");
        end.turn(&turn, TurnStatus::Failed, "it failed");
    }
    record.lay_with(&ProjectDirs::new(project.root().to_owned(), None), end);
    let printed = project.run(["recover"]).expect_success().stdout;
    assert!(printed.contains("Interrupted turns  13"), "{printed}");
    assert!(printed.contains("Codex: it failed"), "{printed}");
    assert!(!printed.contains("0 known"), "{printed}");
}

#[test]
fn what_is_set_and_left_out_is_said_once_beside_the_result() {
    let project = Project::new();
    let status = project.ctxrelay(["status", "--json"]);
    let told = run(&status
        .env("CONTEXTRELAY_REGISTRY_DIR", "registry")
        .env("CONTEXTRELAY_LOG", "ctxrelay=loud"));
    let told = told.expect_success();
    assert_eq!(told.json()["running"], false);
    for name in ["CONTEXTRELAY_REGISTRY_DIR", "CONTEXTRELAY_LOG"] {
        let said = told.stderr.lines().filter(|line| line.contains(name));
        assert_eq!(said.count(), 1, "{told:?}");
    }
    let state = project.base().join("xdg/state/contextrelay");
    let told_of = told.stderr.contains(state.to_str().unwrap());
    assert!(told_of, "where it is instead: {told:?}");
}

#[test]
fn what_is_open_is_told_before_the_word_is_asked_for() {
    let project = Project::live();
    let mut codex = project.agent("codex");
    for number in 0..40 {
        let send = json!({"from": "codex", "text": format!("message {number}")});
        codex.expect("message/send", send);
    }
    let ask = "check\nthe parser";
    let handoff = json!({"from": "codex", "ask": ask, "reason": "it is yours"});
    codex.expect("handoff/create", handoff);
    for (args, becomes) in [
        (
            &["ledger", "clear", "--apply"][..],
            "messages would be taken back",
        ),
        (
            &["ledger", "clear", "--discard", "--apply"],
            "messages would be taken back",
        ),
        (&["ledger", "compact", "--apply"], "and carried on"),
    ] {
        let mut pty = Pty::spawn_sized(&project.ctxrelay(args.iter().copied()), 200, 50);
        pty.wait_for_text("to go on, anything else");
        let screen = pty.screen();
        assert!(screen.contains(becomes), "{args:?}: {screen}");
        assert_eq!(
            screen.matches("codex → claude  pending").count(),
            30,
            "{screen}"
        );
        assert!(
            screen.contains("and 12 more: see them without --apply"),
            "{screen}"
        );
        pty.type_text("no\r");
        assert_eq!(pty.wait_exit(), 5, "{}", pty.screen());
    }
}

#[test]
fn a_proposal_of_another_work_tree_says_so_wherever_it_is_listed() {
    let project = Project::live();
    let mut codex = project.agent("codex");
    let proposal = json!({"agent": "codex", "summary": "all done", "evidence": ["tests"]});
    let told = codex.expect("finality/propose", proposal);
    let id = told["value"]["proposalId"].as_str().unwrap();
    let list = || project.run(["finality", "list", "--json"]).json()["proposals"][0].clone();
    assert_eq!(
        (&list()["stale"], &list()["treeNow"]),
        (&json!(false), &Value::Null)
    );
    project.write("later.txt", "not proposed");
    let shown = project.run(["finality", "show", id, "--json"]).json();
    for told in [list(), shown] {
        assert_eq!(told["stale"], true, "{told}");
        assert!(told["treeNow"].is_string(), "{told}");
    }
    for args in [&["finality", "list"][..], &["finality", "show", id]] {
        let text = project.run(args.iter().copied()).expect_success().stdout;
        let said = "STALE    the work tree is not what was proposed, but ";
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn the_status_says_that_a_question_waits() {
    let project = Project::live();
    let text = || project.run(["status"]).expect_success().stdout;
    assert!(!text().contains("asked"), "{}", text());
    let mut codex = project.agent("codex");
    let ask = json!({"agent": "codex", "question": "Which one?", "choices": ["a", "b"],
        "timeoutMs": 0});
    codex.expect("user/ask", ask);
    let line = "asked     1 request waits for your answer: `ctxrelay approvals list`";
    assert!(text().contains(line), "{}", text());
}

#[test]
fn the_list_of_requests_says_that_claude_waits_at_its_own_dialog() {
    let project = Project::live();
    let (_bridge, mut hook) = (project.agent("claude"), project.agent("hook"));
    let list = || project.run(["approvals", "list"]).expect_success().stderr;
    let listed = || project.run(["approvals", "list", "--json"]).json();
    let (nothing, waits) = (
        "nothing waits for your answer",
        "Claude waits for you in its own terminal",
    );
    assert!(list().contains(nothing), "{}", list());
    assert_eq!(listed()["claudeElsewhere"], false);
    let asks = json!({"event": "PermissionRequest", "claudePid": null});
    hook.expect("hook/report", asks);
    assert!(list().contains(waits), "{}", list());
    assert!(!list().contains(nothing), "{}", list());
    assert_eq!(listed()["claudeElsewhere"], true);
}

#[test]
fn the_help_of_tasks_says_which_of_it_needs_a_daemon() {
    let project = Project::new();
    for args in [&["capsule", "--help"][..], &["capsule", "new", "--help"]] {
        let help = project.run(args.iter().copied()).expect_success().stdout;
        let (_, after) = help.split_once("Example:").unwrap();
        assert!(after.contains("`ctxrelay daemon --detach`"), "{help}");
    }
}

#[test]
fn what_is_not_built_says_so_and_no_tip_leads_to_what_no_help_shows() {
    let project = Project::new();
    for args in [
        &["session", "new", "x", "--branch", "y"][..],
        &["projects", "list"],
        &["ps", "--reap"],
        &["attach"],
        &["detach"],
        &["drive", "claude", "--resume"],
        &["viewer", "--print"],
        &["open", "x"],
        &["keep-awake", "on"],
        &["metrics"],
        &["autonomy", "on", "--for", "1h"],
        &["usage", "--by", "agent"],
        &["headless", "run", "--agent", "claude", "look"],
        &["work", "start"],
        &["guard", "install"],
        &["radar"],
        &["rescue", "list"],
        &["replay", "--at", "7"],
        &["debate", "why?", "--rounds", "2"],
        &["config", "set", "theme", "x"],
        &["config", "unset", "theme"],
        &["doctor", "--contract", "--agent", "codex"],
        &["status", "--all"],
        &["--pair", "two"],
        &["claude", "--pair", "two", "--model", "opus"],
        &["codex", "--pair=two"],
        &["config", "show", "--origin"],
        &["search", "token", "--in", "transcripts"],
        &["search", "token", "--in", "commits"],
    ] {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let (code, word, _) = refused(&project.run(args.iter().copied()));
        assert_eq!(
            (code, word.as_str()),
            (3, "not_in_this_version"),
            "{args:?}"
        );
    }
    for (typo, wrong, right) in [
        ("brige", "bridge", ""),
        ("apar", "apart", ""),
        ("statu", "statusline", "'status'"),
    ] {
        let said = project.run([typo]);
        assert_eq!(said.code(), 2, "{said:?}");
        assert!(!said.stderr.contains(&format!("'{wrong}'")), "{said:?}");
        assert!(said.stderr.contains(right), "{said:?}");
    }
    assert!(!project.state().exists());
}

#[test]
fn a_secret_of_several_lines_is_shown_where_it_begins() {
    let project = Project::new();
    let key = format!(
        "-----BEGIN {0}-----\n{1}\n{1}\n-----END {0}-----",
        "RSA PRIVATE KEY",
        "MIIEpAIBAAKCAQEA7bq0Q2x8".repeat(2),
    );
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let text = format!("one\n{key}\ntwo\n{token}\nthree\n{key}\n");
    let path = project.write("notes.txt", &text);
    let checked = project.run(["redact", "--check", path.to_str().unwrap(), "--json"]);
    assert_eq!(checked.code(), 6);
    let told = checked.json();
    let lines = told["lines"].as_array().unwrap();
    let at: Vec<_> = lines
        .iter()
        .map(|line| line["line"].as_u64().unwrap())
        .collect();
    assert_eq!(
        (told["marks"].as_u64(), at),
        (Some(3), vec![2, 7, 9]),
        "{told}"
    );
    assert!(!checked.stdout.contains("MIIEpAIB"), "{told}");
}

#[test]
fn a_secret_that_only_the_line_above_gives_away_is_shown_in_its_own() {
    let project = Project::new();
    let pair = "- name: DB_PASSWORD\n  value: swordfish\n";
    let block = "  password: |\n    swordfish\n";
    let path = project.write("pod.yml", &format!("env:\n{pair}{pair}{block}last: 1\n"));
    let checked = project.run(["redact", "--check", path.to_str().unwrap(), "--json"]);
    assert_eq!(checked.code(), 6);
    let masked = "  value: [REDACTED_PASSWORD]";
    let lines = json!([
        {"line": 3, "masked": masked},
        {"line": 5, "masked": masked},
        {"line": 7, "masked": "    [REDACTED_PASSWORD]"},
    ]);
    let told = checked.json();
    assert_eq!((&told["marks"], &told["lines"]), (&json!(3), &lines));
    let said = project.run(["redact", "--check", path.to_str().unwrap()]);
    assert!(said.stdout.contains(&format!("3  {masked}")), "{said:?}");
}

#[test]
fn a_type_or_party_that_nothing_has_is_no_empty_record() {
    let project = Project::new();
    let daemon = project.daemon();
    let check = || {
        for (args, known) in [
            (["--type", "messages"], "message, handoff"),
            (["--source", "nobody"], "claude, codex, human, system"),
            (["--target", "cladue"], "claude, codex, human, system"),
        ] {
            let args = ["ledger", "list", "--json"].iter().chain(&args).copied();
            let (code, word, hint) = refused(&project.run(args));
            assert_eq!((code, word.as_str()), (2, "invalid_arguments"));
            assert!(hint.contains(known), "{hint}");
        }
        // There could be one.
        let none = ["ledger", "list", "--type", "handoff", "--source", "codex"];
        project.run(none).expect_success();
    };
    check();
    daemon.stop();
    check();
}

#[test]
fn the_rows_of_the_record_say_what_happened() {
    let project = Project::new();
    let daemon = project.daemon();
    let new = project.ctxrelay(["capsule", "new", "Fix the login"]);
    let mut new = Pty::spawn(&new);
    assert_eq!(new.wait_exit(), 0, "{}", new.screen());
    let told = project
        .run(["capsule", "list", "--json"])
        .expect_success()
        .json();
    let id = told["capsules"][0]["id"].as_str().unwrap().to_owned();
    let log = project.run(["capsule", "log", &id]).expect_success().stdout;
    let list = project.run(["ledger", "list"]).expect_success().stdout;
    for text in [&log, &list] {
        assert!(text.contains("task opened  "), "{text}");
        assert!(text.contains("task used  "), "{text}");
    }
    assert!(list.contains("lifecycle daemon started"), "{list}");
    assert!(!log.contains("session_"), "of one session alone: {log}");
    let (code, screen) = typed(
        &project.ctxrelay(["ledger", "clear", "--apply"]),
        "to go on, anything else",
        "clear",
    );
    assert_eq!(code, 0, "{screen}");
    let mut claude = project.agent("claude");
    claude.expect(
        "note/append",
        json!({"agent": "claude", "text": "on with it"}),
    );
    daemon.stop();
    let log = project.run(["capsule", "log", &id]).expect_success().stdout;
    assert_eq!(log.matches("session_").count(), 2, "{log}");
}

#[test]
fn a_hint_names_what_is_wrong_with_a_file() {
    let project = Project::new();
    let (_, _, hint) = refused(&project.run(["redact", "--check", "nowhere.txt", "--json"]));
    assert_eq!(hint, "name a file that is there");
    let (_, _, hint) = refused(&project.run(["redact", "--check", ".", "--json"]));
    assert_eq!(hint, "see that it is a file of yours, and no folder");
    std::fs::remove_dir(project.registry()).unwrap();
    std::fs::write(project.registry(), "no folder").unwrap();
    let (_, _, hint) = refused(&project.run(["daemon", "--json"]));
    assert!(hint.ends_with("with CONTEXTRELAY_REGISTRY_DIR"), "{hint}");
}

#[test]
fn a_rule_and_what_enforces_it_stand_apart() {
    let project = Project::live();
    let set = project.ctxrelay(["coordinator", "codex"]);
    let (code, screen) = typed(&set, "to go on, anything else", "yes");
    assert_eq!(code, 0, "{screen}");
    let told = project.run(["coordinator"]).expect_success().stdout;
    let row = told.lines().find(|line| line.contains("Claude")).unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(words[1..4], ["coordinator", "Claude", "deny"], "{row}");
}
