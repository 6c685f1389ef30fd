//! In which conversation the Claude that `ctxrelay pair` opens goes on, and in none where that one is
//! open.

use ctxrelay::core::agent::AgentState;
use ctxrelay::store::dirs::ProjectDirs;
use ctxrelay::store::owner::OwnerLock;
use serde_json::json;

use crate::keeping::confirm;
use crate::support::child::{Child, run};
use crate::support::project::Project;
use crate::support::record::{Record, RecordEnd};
use crate::support::wait::{timeout, wait_until};
use crate::support::ws::RpcSocket;

/// The name of the first pair.
const FIRST: &str = "default";

/// A project whose Claude still has these conversations.
fn project_with(conversations: &[&str]) -> Project {
    let project = Project::new();
    let root = project.root().canonicalize().unwrap();
    let root = root.to_str().unwrap();
    let folder = root.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    let kept = project.home().join(".claude/projects").join(folder);
    std::fs::create_dir_all(&kept).unwrap();
    for id in conversations {
        std::fs::write(kept.join(format!("{id}.jsonl")), "{}\n").unwrap();
    }
    project
}

/// What `ctxrelay pair` would do.
struct Opens {
    /// The conversation that its Claude goes on in.
    goes_on: Option<String>,
    /// What it says of that.
    said: String,
}

fn opens(project: &Project, pair: &str) -> Opens {
    let launch = project.ctxrelay(["pair", "--dry-run"]);
    let shown = run(&launch.env("CONTEXTRELAY_RUNTIME_SESSION", pair)).expect_success();
    let mut words = shown.stdout.split_whitespace();
    words.find(|word| *word == "--resume");
    Opens {
        goes_on: words.next().map(str::to_owned),
        said: shown.stderr,
    }
}

fn goes_on(project: &Project, pair: &str) -> Option<String> {
    opens(project, pair).goes_on
}

#[track_caller]
fn wait_goes_on(project: &Project, pair: &str, conversation: &str) {
    let what = format!("{pair} to go on in {conversation}");
    wait_until(&what, timeout(), || {
        (goes_on(project, pair).as_deref() == Some(conversation)).then_some(())
    });
}

/// A process in Claude's place, with the bridge of its pair.
struct Claude<'a> {
    project: &'a Project,
    pair: &'static str,
    process: Child,
    bridge: Option<RpcSocket>,
}

impl<'a> Claude<'a> {
    fn open(project: &'a Project, pair: &'static str) -> Self {
        let process = Child::spawn(&project.program("cat"));
        let mut claude = Self {
            project,
            pair,
            process,
            bridge: None,
        };
        claude.bridge = Some(claude.connect("claude"));
        claude
    }

    fn connect(&self, role: &str) -> RpcSocket {
        let mut socket = self.project.control_of(role).unwrap();
        let hello = json!({
            "protocol": 1, "role": role, "pid": 4_000_000,
            "agentPid": self.process.pid(), "runtimeSessionId": self.pair,
        });
        socket.expect("hello", hello);
        socket
    }

    /// It has a prompt in a session of its own.
    fn prompt(&self, conversation: &str) {
        let told = json!({
            "event": "UserPromptSubmit", "claudePid": self.process.pid(),
            "claudeSessionId": conversation,
        });
        self.connect("hook").expect("hook/report", told);
    }

    /// As [`Self::prompt`], in one of which the record has not known.
    fn prompted(&self, conversation: &str) {
        self.prompt(conversation);
        let said = format!("Claude converses in session {conversation}");
        wait_until(&said, timeout(), || {
            (!self.project.ledger_naming(&said).is_empty()).then_some(())
        });
    }

    /// Its process ends. Its bridge does before, where one is left.
    fn close(mut self) {
        drop(self.bridge.take());
        self.process.wait();
    }
}

/// Seals the session by one of the commands of `ctxrelay ledger`.
fn seal(project: &Project, args: &[&str], word: &str) {
    let words = ["ledger"].into_iter().chain(args.iter().copied());
    let (code, screen) = confirm(&project.ctxrelay(words.chain(["--apply"])), word);
    assert_eq!(code, 0, "{screen}");
}

#[test]
fn a_claude_that_has_given_no_sign_for_too_long_is_still_open() {
    for state in [AgentState::Stale, AgentState::Idle] {
        let project = project_with(&["plums"]);
        let record = Record::of(8);
        let mut end = RecordEnd::of(&record, 1_795_000_100_000);
        end.converses("plums", state, None);
        let dirs = ProjectDirs::new(project.root().to_owned(), None);
        record.lay_with(&dirs, end);
        // As while a daemon runs, which would have recorded that it left.
        let held = OwnerLock::try_acquire(&dirs).unwrap().unwrap();
        let opened = opens(&project, FIRST);
        assert_eq!(opened.goes_on, None, "{state:?}");
        assert!(opened.said.contains("plums is open"), "{}", opened.said);
        drop(held);
        assert_eq!(goes_on(&project, FIRST).as_deref(), Some("plums"));
    }
}

#[test]
fn a_conversation_is_found_where_the_path_has_letters_of_two_units() {
    let project = Project::new();
    let root = project.root().join("💡idea");
    let above = project.root().to_str().unwrap();
    let above = above.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    let kept = project.home().join(".claude/projects");
    let kept = kept.join(format!("{above}---idea"));
    for folder in [&root, &kept] {
        std::fs::create_dir_all(folder).unwrap();
    }
    std::fs::write(kept.join("plums.jsonl"), "{}\n").unwrap();
    let record = Record::of(8);
    let mut end = RecordEnd::of(&record, 1_795_000_100_000);
    end.converses("plums", AgentState::Offline, None);
    record.lay_with(&ProjectDirs::new(root.clone(), None), end);
    let args = ["pair", "--dry-run", "--project", root.to_str().unwrap()];
    let shown = project.run(args).expect_success().stdout;
    assert!(shown.contains("--resume plums"), "{shown}");
}

#[test]
fn each_pair_goes_on_in_its_own_conversation_after_a_compaction() {
    let project = project_with(&["plums", "pears"]);
    let daemon = project.daemon();
    let first = Claude::open(&project, FIRST);
    first.prompted("plums");
    first.close();
    wait_goes_on(&project, FIRST, "plums");
    let second = Claude::open(&project, "two");
    second.prompted("pears");
    seal(&project, &["compact"], "compact");
    assert_eq!(goes_on(&project, FIRST).as_deref(), Some("plums"));
    assert_eq!(goes_on(&project, "two"), None, "it is open");
    // It is known to be there already.
    second.prompt("pears");
    second.close();
    wait_until("its end", timeout(), || {
        let ends = project.ledger_naming("Claude of pair two is offline");
        (!ends.is_empty()).then_some(())
    });
    assert_eq!(goes_on(&project, "two").as_deref(), Some("pears"));
    assert!(project.ledger_naming("Claude converses in").is_empty());
    for _ in 0..2 {
        seal(&project, &["compact"], "compact");
        assert_eq!(goes_on(&project, FIRST).as_deref(), Some("plums"));
        assert_eq!(goes_on(&project, "two").as_deref(), Some("pears"));
        assert_eq!(goes_on(&project, "three"), None);
    }
    daemon.stop();
    assert_eq!(goes_on(&project, "two").as_deref(), Some("pears"));
}

#[test]
fn a_conversation_that_stays_open_without_a_daemon_is_left_alone() {
    let project = project_with(&["plums"]);
    let daemon = project.daemon();
    let claude = Claude::open(&project, FIRST);
    claude.prompted("plums");
    let pid = claude.process.pid().to_string();
    let check = |told: &str| {
        let opened = opens(&project, FIRST);
        assert_eq!(opened.goes_on, None, "{told}");
        for words in ["plums", &pid, "ctxrelay recover"] {
            assert!(opened.said.contains(words), "{told}: {}", opened.said);
        }
    };
    assert_eq!(goes_on(&project, FIRST), None, "a daemon runs");
    daemon.stop();
    check("it has ended");
    // The next one knows of no Claude before that one has come back to it.
    let next = project.daemon();
    check("another one runs");
    next.stop();
    check("that one has ended");
    claude.close();
    assert_eq!(goes_on(&project, FIRST).as_deref(), Some("plums"));
}

#[test]
fn a_later_process_with_the_id_of_a_claude_is_none() {
    let project = project_with(&["plums"]);
    let process = Child::spawn(&project.program("cat"));
    let record = Record::of(8);
    let mut end = RecordEnd::of(&record, 1_000_000_000_000);
    end.converses("plums", AgentState::Idle, Some(process.pid()));
    record.lay_with(&ProjectDirs::new(project.root().to_owned(), None), end);
    assert_eq!(goes_on(&project, FIRST).as_deref(), Some("plums"));
}

#[test]
fn a_cleared_record_begins_another_conversation() {
    for discard in [false, true] {
        let project = project_with(&["plums", "pears"]);
        let _daemon = project.daemon();
        let clear = || match discard {
            false => seal(&project, &["clear"], "clear"),
            true => {
                let session = project.read(".contextrelay/current");
                let session = session.trim();
                let word = &session[session.len() - 4..];
                seal(&project, &["clear", "--discard"], word);
            }
        };
        let first = Claude::open(&project, FIRST);
        first.prompted("plums");
        first.close();
        wait_goes_on(&project, FIRST, "plums");
        let second = Claude::open(&project, "two");
        second.prompted("pears");
        clear();
        assert_eq!(goes_on(&project, FIRST), None);
        // One that is open all along and talked to again is in its conversation.
        second.prompted("pears");
        second.close();
        wait_goes_on(&project, "two", "pears");
        clear();
        assert_eq!(goes_on(&project, "two"), None);
    }
}
