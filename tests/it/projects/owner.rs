//! A daemon that cannot be asked, and one whose lock or folder is taken away.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::support::child::{Child, run};
use crate::support::daemon::Daemon;
use crate::support::mcp::McpClient;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::wait::{timeout, wait_until};

/// It answers again: `status` waits for less than a slow machine may take for that.
#[track_caller]
fn wait_for_answers(project: &Project) {
    wait_until("a daemon that answers", timeout(), || {
        let status = project.run(["status", "--json"]).expect_success().json();
        (status["answers"] == true).then_some(())
    });
}

#[test]
fn a_daemon_that_hangs_is_said_to_run_and_not_to_answer() {
    let project = Project::new();
    let mut daemon = project.daemon();
    daemon.child().signal(Signal::STOP);
    let status = project.run(["status", "--json"]).expect_success().json();
    assert_eq!(
        (&status["running"], &status["answers"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(status["pid"], daemon.pid());
    for agent in ["claude", "codex"] {
        assert_eq!(status["agents"][agent]["state"], "unknown");
    }
    let said = project.run(["status"]).expect_success().stdout;
    assert!(
        said.contains("runs (holds the lock) but does not answer"),
        "{said}"
    );
    for agent in ["claude    not known", "codex     not known"] {
        assert!(said.contains(agent), "{said}");
    }
    assert!(
        said.contains("ctxrelay kill") && !said.contains("start it with"),
        "{said}"
    );
    let refused = project.run(["daemon", "--detach", "--json"]);
    assert_eq!(refused.code(), 4);
    let message = refused.json()["error"]["message"].to_string();
    assert!(
        message.contains("holds the lock") && message.contains("does not answer"),
        "{message}"
    );
    daemon.child().signal(Signal::CONT);
    wait_for_answers(&project);
}

/// Takes connections, and answers none of them.
struct SilentPort {
    taken: Arc<Mutex<Vec<TcpStream>>>,
    port: u16,
}

impl SilentPort {
    fn open() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let taken = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&taken);
        thread::spawn(move || {
            for stream in listener.incoming() {
                kept.lock().unwrap().push(stream.unwrap());
            }
        });
        Self { taken, port }
    }

    /// How many came since this was asked last.
    fn count(&self) -> usize {
        std::mem::take(&mut *self.taken.lock().unwrap()).len()
    }
}

#[test]
fn a_silent_daemon_is_waited_for_once_by_what_asks_it_more_than_once() {
    let project = Project::new();
    let _daemon = project.daemon();
    let mut codex = project.agent("codex");
    codex.expect(
        "note/append",
        json!({"agent": "codex", "text": "anything to find"}),
    );
    let ports = project.state().join("state/ports.json");
    let mut published: Value = serde_json::from_slice(&fs::read(&ports).unwrap()).unwrap();
    let silent = SilentPort::open();
    published["controlPort"] = json!(silent.port);
    fs::write(&ports, published.to_string()).unwrap();
    for asks in [
        ["search", "anything", "--json"].as_slice(),
        &["continuity", "status", "--json"],
    ] {
        project.run(asks.iter().copied()).expect_success();
        assert_eq!(silent.count(), 1, "{asks:?}");
    }
}

#[test]
fn a_daemon_without_descriptors_is_said_to_run_and_not_to_answer() {
    let project = Project::new();
    let daemon = project.daemon();
    // What it has open stays open; nothing can be opened or accepted.
    let limit = rustix::process::Resource::Nofile;
    let pid = Pid::from_raw(daemon.pid().cast_signed());
    let before = rustix::process::getrlimit(limit);
    let none = rustix::process::Rlimit {
        current: Some(0),
        maximum: before.maximum,
    };
    rustix::process::prlimit(pid, limit, none).unwrap();
    let status = project.run(["status", "--json"]).expect_success().json();
    assert_eq!(
        (&status["running"], &status["answers"]),
        (&json!(true), &json!(false))
    );
    rustix::process::prlimit(pid, limit, before).unwrap();
    wait_for_answers(&project);
}

/// A daemon with a bridge at it, from which something is taken away.
struct Scene {
    project: Project,
    daemon: Daemon,
    claude: McpClient,
}

impl Scene {
    #[track_caller]
    fn new() -> Self {
        let project = Project::new();
        let daemon = project.daemon();
        let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
        claude.tool("append_note", json!({"text": "before"}));
        Self {
            project,
            daemon,
            claude,
        }
    }

    #[track_caller]
    fn wait_end(&mut self) {
        let begin = Instant::now();
        wait_until("the end of the old daemon", timeout(), || {
            self.daemon.child().try_exit()
        });
        eprintln!("the old daemon was there for {:?}", begin.elapsed());
    }

    /// The agent's next note is in the record at the project's own place.
    #[track_caller]
    fn expect_moved_on(&mut self) {
        let noted = wait_until("a note", timeout(), || {
            let result = self
                .claude
                .call_tool("append_note", json!({"text": "after"}));
            (!result.is_error).then_some(result.structured)
        });
        let entry = &noted["entry_id"];
        let ledger = self.project.ledger();
        assert!(ledger.iter().any(|line| &line["id"] == entry), "{noted}");
        let status = self
            .project
            .run(["status", "--json"])
            .expect_success()
            .json();
        assert_eq!(status["answers"], true);
    }
}

/// Every file below a folder with what it holds.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.push((path.clone(), fs::read(&path).unwrap_or_default()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_daemon_whose_lock_or_state_is_taken_away_ends_and_the_agent_moves_on() {
    for name in ["state/daemon.lock", "state"] {
        let mut scene = Scene::new();
        let path = scene.project.state().join(name);
        fs::rename(&path, path.with_extension("away")).unwrap();
        scene.wait_end();
        scene.expect_moved_on();
        scene.project.end_daemon();
    }
}

#[test]
fn a_daemon_whose_folder_is_renamed_ends_and_writes_nothing_into_it() {
    let mut scene = Scene::new();
    let relay = scene.project.state();
    let away = scene.project.root().join("away");
    fs::rename(&relay, &away).unwrap();
    let records = || {
        let mut files = contents(&away);
        // The index is made of the record, and follows it by files that it has open.
        files.retain(|(path, _)| {
            let name = path.file_name().unwrap().to_string_lossy();
            name != "contextrelay.log" && !name.starts_with("index.db")
        });
        files
    };
    let before = records();
    scene.wait_end();
    let after = records();
    let written: Vec<&PathBuf> = after
        .iter()
        .filter(|file| !before.contains(file))
        .map(|(path, _)| path)
        .collect();
    assert!(after == before, "written: {written:?}");
    let refused = scene
        .claude
        .tool_refused("append_note", json!({"text": "lost"}));
    assert!(
        ["folder_lost", "unanswered"].contains(&refused["code"].as_str().unwrap()),
        "{refused}"
    );
    assert!(!relay.exists(), "an agent makes no project anew");
    // The bridge starts the next one as soon as there is a folder for it.
    scene.project.begin();
    scene.expect_moved_on();
    let of_old: Vec<Value> = scene.project.ledger();
    assert!(!of_old.iter().any(|line| line["content"] == "before"));
    scene.project.end_daemon();
}

#[test]
fn a_daemon_whose_folder_is_replaced_or_removed_ends() {
    // Replaced at once: by another project's folder.
    let mut scene = Scene::new();
    let relay = scene.project.state();
    fs::rename(&relay, scene.project.root().join("away")).unwrap();
    fs::create_dir(&relay).unwrap();
    scene.wait_end();
    scene.expect_moved_on();
    scene.project.end_daemon();
    // Removed.
    let mut scene = Scene::new();
    // What the daemon writes meanwhile stands in the way of who removes it.
    let removed = || fs::remove_dir_all(scene.project.state()).ok();
    wait_until("its removal", timeout(), removed);
    scene.wait_end();
    // The whole project renamed.
    let mut scene = Scene::new();
    let root = scene.project.root().to_path_buf();
    fs::rename(&root, root.with_extension("renamed")).unwrap();
    scene.wait_end();
    assert!(!root.exists());
    fs::rename(root.with_extension("renamed"), &root).unwrap();
    // What was acknowledged is there for the next one.
    let status = run(&scene.project.ctxrelay(["ledger", "verify", "--json"]));
    assert_eq!(status.json()["ok"], true);
    // The bridge starts it.
    scene.expect_moved_on();
    scene.project.end_daemon();
}

/// What is taken away, what is said of that, and a way on.
const TAKEN: [(&str, &str, &str); 2] = [
    (
        ".contextrelay",
        "or .contextrelay in it, was removed or renamed",
        "put it back from a backup",
    ),
    (
        ".contextrelay/state",
        "its lock was removed or renamed",
        "makes the state folder again",
    ),
];

#[test]
fn a_deck_whose_folder_or_state_is_taken_away_says_so_and_ends() {
    for (name, told, _) in TAKEN {
        let project = Project::new();
        let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 200, 50).labelled("deck");
        deck.wait_for_text("✓ chain");
        let path = project.root().join(name);
        fs::rename(&path, path.with_extension("away")).unwrap();
        assert_eq!(deck.wait_exit(), 3, "{}", deck.screen());
        assert!(deck.shows(told), "{}", deck.screen());
        assert!(deck.shows("`ctxrelay`"), "{}", deck.screen());
        assert!(!path.exists(), "nothing was begun there");
    }
}

#[test]
fn a_daemon_whose_folder_or_state_is_taken_away_says_so() {
    for (name, told, way) in TAKEN {
        let project = Project::new();
        let launch = project.ctxrelay(["daemon"]);
        let mut daemon = Child::spawn(&launch);
        daemon.wait_for_line("its ready line", |line| Some(line.to_owned()));
        let path = project.root().join(name);
        fs::rename(&path, path.with_extension("away")).unwrap();
        let ended = daemon.wait();
        assert_eq!(ended.code(), 3, "{ended:?}");
        assert!(ended.stderr.contains(told), "{ended:?}");
        assert!(ended.stderr.contains(way), "{ended:?}");
        // It had nothing to say of a failure of its own.
        let next = project.daemon();
        let status = project.run(["status", "--json"]).expect_success().json();
        assert!(
            !status["notices"].to_string().contains("before this start"),
            "{status}"
        );
        next.stop();
    }
}

#[test]
fn a_deck_does_not_say_of_a_record_that_is_gone_that_it_is_on_disk() {
    let project = Project::new();
    let _daemon = project.daemon();
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 200, 50).labelled("deck");
    deck.wait_for_text("✓ chain");
    let relay = project.state();
    let away = relay.with_extension("away");
    fs::rename(&relay, &away).unwrap();
    deck.wait_for_text("was moved or removed; what you see is as it was at");
    assert!(!deck.shows("on disk"), "{}", deck.screen());
    fs::rename(&away, &relay).unwrap();
    deck.wait_for_text("every entry is on disk");
}

#[test]
fn a_deck_whose_project_moved_begins_no_other_one_in_its_place() {
    for is_made_again in [false, true] {
        let project = Project::new();
        let _daemon = project.daemon();
        let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 200, 50).labelled("deck");
        deck.wait_for_text("✓ chain");
        fs::rename(project.root(), project.base().join("moved")).unwrap();
        if is_made_again {
            fs::create_dir(project.root()).unwrap();
        }
        deck.wait_for_text("was moved or removed; what you see is as it was at");
        deck.press(Key::Char('R'));
        deck.wait_for_text("where it is now");
        assert!(!deck.shows("was started again"), "{}", deck.screen());
        assert!(!project.state().exists(), "nothing was begun there");
        deck.press_until_exit(Key::Ctrl('c'));
    }
}

/// Puts something in the way of a start, which opens its queue late.
fn block_queue(project: &Project) {
    project.write(".contextrelay/state/queue.db/in_the_way", "");
}

#[test]
fn of_several_starts_none_of_which_can_be_each_says_why() {
    let project = Project::new();
    block_queue(&project);
    let start = |_| Child::spawn(&project.ctxrelay(["daemon", "--detach", "--json"]));
    let starts: Vec<Child> = (0..3).map(start).collect();
    for start in starts {
        let refused = start.wait();
        assert_eq!(refused.code(), 3, "{refused:?}");
        assert_eq!(refused.json()["error"]["code"], "queue", "{refused:?}");
    }
}

#[test]
fn why_no_daemon_starts_for_an_agent_is_told_to_it_and_to_the_log() {
    let project = Project::new();
    block_queue(&project);
    let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
    wait_until("the reason", timeout(), || {
        let refused = claude.tool_refused("task_state", json!({}));
        let told = refused["message"].to_string();
        told.contains("cannot open the queue").then_some(())
    });
    let log = project.read(".contextrelay/state/contextrelay.log");
    let mut lines = log.lines().filter(|line| line.contains("ERROR"));
    let is_told = |line: &str| {
        line.contains("the daemon did not start") && line.contains("cannot open the queue")
    };
    assert!(lines.any(is_told), "{log}");
}

#[test]
fn only_open_ports_are_named_as_such() {
    let project = Project::new();
    let daemon = project.daemon();
    let row = || project.run(["instances", "--json"]).json()["instances"][0].clone();
    assert_eq!(row()["controlPort"], project.ports.control);
    daemon.stop();
    assert_eq!(
        (&row()["running"], &row()["controlPort"]),
        (&json!(false), &Value::Null)
    );
    assert_eq!(row()["proxyPort"], Value::Null);
    // What is kept for it is no port that was named for a run.
    let kept = &row()["registeredPorts"];
    let control = kept["controlPort"].as_u64().unwrap();
    assert_ne!(control, u64::from(project.ports.control));
    let written = fs::read_to_string(project.registry().join("instances.json")).unwrap();
    let written: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(&written["instances"][0]["ownPorts"], kept);
    let listed = project.run(["instances"]).expect_success().stdout;
    let told = format!(
        "when it runs {}, {}, {control}",
        kept["appPort"], kept["proxyPort"]
    );
    assert!(listed.contains(&told), "{listed}");
}

#[test]
fn a_git_worktree_says_that_its_record_is_another_one() {
    let project = Project::new();
    project.begin();
    let notices = |launch| run(&launch).expect_success().json()["notices"].to_string();
    let status = || project.ctxrelay(["status", "--json"]);
    assert!(!notices(status()).contains("worktree"));
    project.git(&["worktree", "add", "--quiet", "../tree"]);
    let tree = project.base().join("tree");
    let said = notices(status().cwd(&tree));
    let main = project.root().display().to_string();
    assert!(
        said.contains("git worktree") && said.contains(&main),
        "{said}"
    );
}
