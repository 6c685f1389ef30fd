//! [`Scene`]: a waiting proposal, a program in Claude's place, and commands that try to approve the
//! proposal in the operator's place.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::project::Project;
use super::pty::Pty;
use super::script_file::write_program;
use super::wait::{timeout, wait_until};
use super::{launch::Launch, operator};

/// Runs its arguments in a session of its own with an empty environment, once its parent is gone.
const ORPHAN: &str = r#"setsid env -i PATH="$PATH" sh -c 'while kill -0 "$0" 2>/dev/null; do sleep 0.02; done; exec "$@"' $$ "$@" &"#;

/// Ways in which a command can try to get out from below an agent; `%` is the command.
pub const WAYS: [(&str, &str); 9] = [
    ("as it is", "%"),
    ("without an environment", "env -i %"),
    ("in a session of its own", "setsid %"),
    ("with nohup", "nohup %"),
    ("in a terminal of its own", "script -qec '%' /dev/null"),
    (
        "in a session and a terminal of its own, without an environment",
        "env -i PATH=\"$PATH\" setsid script -qec '%' /dev/null",
    ),
    ("in the background", "% & wait"),
    ("as an orphan", "sh ../orphan.sh %"),
    (
        "as an orphan in a terminal of its own",
        "sh ../orphan.sh script -qec '%' /dev/null",
    ),
];

/// A project with a proposal that waits for the operator.
pub struct Scene<'a> {
    pub project: &'a Project,
    pub proposal: String,
}

/// One try that was written down: where its outcome will be.
pub struct Try {
    pub what: String,
    pub outcome: PathBuf,
}

impl<'a> Scene<'a> {
    /// With a daemon that runs already.
    #[track_caller]
    pub fn new(project: &'a Project) -> Self {
        let proposal = propose(project);
        let scene = Self { project, proposal };
        scene.write("orphan.sh", ORPHAN);
        scene.write("raw.mjs", include_str!("raw.mjs"));
        // What `script` types for whoever asks to have the word typed.
        scene.write("typed", "approve\n");
        scene
    }

    /// Writes a file beside the project.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.project.base().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A script that approves over the operator's socket by hand.
    pub fn raw(&self, name: &str, tries: u32) -> (PathBuf, PathBuf) {
        let outcome = self.project.base().join(format!("{name}.outcome"));
        let node = self.project.program("node").program;
        let script = format!(
            "exec {} {} {} {} {} {tries}\n",
            node.display(),
            self.project.base().join("raw.mjs").display(),
            operator::socket(self.project).display(),
            self.proposal,
            outcome.display(),
        );
        (self.write(&format!("{name}.sh"), &script), outcome)
    }

    /// A script that approves with our own program.
    pub fn program(&self, name: &str) -> (PathBuf, PathBuf) {
        self.own(name, &["finality", "approve", &self.proposal])
    }

    /// A script that runs our own program with these words and writes down how it ended.
    fn own(&self, name: &str, words: &[&str]) -> (PathBuf, PathBuf) {
        let outcome = self.project.base().join(format!("{name}.outcome"));
        let launch = self.project.ctxrelay(words.iter().copied());
        let part = outcome.with_extension("part");
        let script = format!(
            "{}{} --project {} {}\nprintf '{{\"exit\":%d}}' $? >{}\nmv {} {}\n",
            exports(&launch),
            launch.program.display(),
            self.project.root().display(),
            words.join(" "),
            part.display(),
            part.display(),
            outcome.display(),
        );
        (self.write(&format!("{name}.sh"), &script), outcome)
    }

    /// The lines of a shell that opens the deck, each way with its input from elsewhere and, where
    /// that is no terminal, also on the shell's own; and with each the exit code of one that is
    /// refused.
    pub fn decks(&self) -> (String, Vec<(Try, u8)>) {
        // To the pane of what waits, the card, and the approval.
        self.write("keys", "3\ra\r");
        let (mut lines, mut tries) = (String::new(), Vec::new());
        for (number, (what, way)) in WAYS.into_iter().enumerate() {
            let has_own_terminal = way.contains("script -qec");
            let elsewhere = " <../keys >/dev/null 2>&1";
            let exit = if has_own_terminal { 5 } else { 2 };
            let mut opened = vec![("its input from elsewhere", elsewhere, exit)];
            // `nohup` and the background take the terminal away.
            if ["%", "env -i %", "setsid %"].contains(&way) {
                opened.push(("in the agent's terminal", "", 5));
            }
            for (at, (where_to, redirected, exit)) in opened.into_iter().enumerate() {
                let (script, outcome) = self.own(&format!("deck-{number}-{at}"), &[]);
                let command = way.replace('%', &format!("sh {}", script.display()));
                lines.push_str(&format!("{command}{redirected}\n"));
                let what = format!("the deck {what}, {where_to}");
                tries.push((Try { what, outcome }, exit));
            }
        }
        let outcomes = tries.iter().map(|(one, _)| one);
        lines.push_str(&until_over(outcomes));
        (lines, tries)
    }

    /// The lines of a shell that tries everything, each way with both programs.
    pub fn tries(&self) -> (String, Vec<Try>) {
        let (mut lines, mut tries) = (String::new(), Vec::new());
        for (number, (what, way)) in WAYS.into_iter().enumerate() {
            let made = [
                ("by hand", self.raw(&format!("raw-{number}"), 1)),
                (
                    "with the program",
                    self.program(&format!("program-{number}")),
                ),
            ];
            for (with, (script, outcome)) in made {
                let command = way.replace('%', &format!("sh {}", script.display()));
                lines.push_str(&format!("{command} <../typed >/dev/null 2>&1\n"));
                let what = format!("{what}, {with}");
                tries.push(Try { what, outcome });
            }
        }
        lines.push_str(&until_over(&tries));
        (lines, tries)
    }

    /// `ctxrelay claude`, with a shell in Claude's place that runs these lines and stays.
    #[track_caller]
    pub fn agent(&self, lines: &str) -> Pty {
        Pty::spawn(&agent_launch(self.project, lines)).labelled("agent")
    }

    /// Every try was refused, and nothing is decided.
    #[track_caller]
    pub fn expect_refused(&self, tries: &[Try]) {
        for one in tries {
            let outcome = outcome(&one.what, &one.outcome);
            let refused =
                outcome["exit"] == 5 || outcome["error"]["data"]["code"] == "operator_only";
            assert!(refused, "{}: {outcome}", one.what);
        }
        assert!(!self.is_decided());
    }

    pub fn is_decided(&self) -> bool {
        let ledger = self.project.ledger();
        ledger
            .iter()
            .any(|entry| entry["type"] == "finality_decision")
    }

    /// The operator approves in a shell of their own.
    #[track_caller]
    pub fn approve(&self) {
        let launch = self
            .project
            .ctxrelay(["finality", "approve", &self.proposal]);
        let mut operator = Pty::spawn(&launch).labelled("operator");
        operator.wait_for_text("Type `approve`");
        operator.type_text("approve\r");
        assert_eq!(operator.wait_exit(), 0, "{}", operator.screen());
        assert!(self.is_decided());
    }
}

/// `ctxrelay claude`, with a shell in Claude's place that runs these lines in the project and
/// stays.
pub fn agent_launch(project: &Project, lines: &str) -> Launch {
    let program = project.base().join("agent.sh");
    let text = format!("#!/bin/sh\n{lines}\necho the agent waits\nread -r line\n");
    write_program(&program, &text);
    project
        .ctxrelay(["claude"])
        .env("CONTEXTRELAY_CLAUDE_BIN", program)
}

/// What became of a try, once it is over.
#[track_caller]
pub fn outcome(what: &str, path: &Path) -> Value {
    let text = wait_until(&format!("the outcome {what}"), timeout(), || {
        std::fs::read_to_string(path).ok()
    });
    serde_json::from_str(&text).unwrap()
}

/// The lines that wait for these: an agent may end what its command leaves behind.
fn until_over<'a>(tries: impl IntoIterator<Item = &'a Try>) -> String {
    let wait = |one: &Try| {
        let path = one.outcome.display();
        format!("while ! [ -e {path} ]; do sleep 0.02; done\n")
    };
    tries.into_iter().map(wait).collect()
}

fn exports(launch: &Launch) -> String {
    let export = |(name, value): (&std::ffi::OsString, &std::ffi::OsString)| {
        format!(
            "export {}='{}'\n",
            name.to_string_lossy(),
            value.to_string_lossy()
        )
    };
    launch.env.iter().map(export).collect()
}

#[track_caller]
fn propose(project: &Project) -> String {
    let mut socket = project.agent("codex");
    let reply = socket.expect(
        "finality/propose",
        json!({"agent": "codex", "summary": "all done", "evidence": ["cargo test"]}),
    );
    reply["value"]["proposalId"].as_str().unwrap().to_owned()
}
