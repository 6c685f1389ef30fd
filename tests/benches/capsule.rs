//! Tasks that can travel, as a person at a terminal meets them: searching a thousand of them
//! through the daemon of a long record, and opening, exporting, checking and importing one.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use ctxrelay::core::capsule::{Capsule, CapsuleStatement, StatementAuthor};
use ctxrelay::core::id::CapsuleId;
use ctxrelay::store::capsules::{CapsuleOwner, Capsules};
use ctxrelay::store::dirs::ProjectDirs;
use ctxrelay::wire::capsule::write;

use serde_json::json;

use crate::figure::{Series, Table, ms};
use crate::hook;
use crate::ledger::{longest_record, short};
use crate::record::Record;
use crate::support::launch::Launch;
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::wait::wait_until;

/// Capsules that are kept.
const KEPT: usize = 1_000;

/// How often each is done that changes nothing.
const RUNS: usize = 50;

/// Tasks that are opened and exported.
const TASKS: usize = 10;

/// What is said for the last of them, and which files are touched for it, so many in a turn.
const STATED: usize = 30;
const FILES: usize = 50;
const TURN_FILES: usize = 10;

/// The daemon reads the whole record first.
const PATIENCE: Duration = Duration::from_secs(120);

/// A process with an answer of the daemon, at its slowest, in ms.
const SEARCH_MS: f64 = 50.0;

/// What a task may take to be opened, in ms.
const OPEN_MS: f64 = 50.0;

/// What its capsule may take to be made of the whole record, in ms.
const MADE_MS: f64 = 50.0;

/// What it may take to be written to a file, and to be read from one, in ms.
const FILE_MS: f64 = 20.0;

/// What a check may take beside git's own processes, in ms.
const CHECK_MORE_MS: f64 = 10.0;

/// Measures all of it.
pub fn measure(table: &mut Table) {
    let entries = longest_record();
    let project = Project::new();
    let dirs = ProjectDirs::new(project.root().to_owned(), None);
    Record::of(entries).lay_into(&dirs);
    keep(&dirs);
    let _daemon = project.daemon();
    let label = format!("{KEPT} kept, {} entries", short(entries));
    search(table, &project, &label);
    let id = open(table, &project, &label);
    fill(&project, &id);
    show(table, &project, &id, &label);
    let file = export(table, &project, &id);
    check(table, &project, &id);
    import(table, &project, &file);
}

/// Each has the frequent word, and one of its own.
fn keep(dirs: &ProjectDirs) {
    let kept = Capsules::of(dirs);
    for number in 0..KEPT {
        let id = CapsuleId::new(format!("cap_{number:012x}"));
        let mut capsule = Capsule::new(id.clone(), format!("Plums of tree {number}"), 1);
        for said in 0..20 {
            capsule.decisions.push(CapsuleStatement {
                text: format!("decision {said}: plum{number} is kept cold, others are sold"),
                by: StatementAuthor::Human,
                at: 1,
                cut: None,
                line: None,
                more: serde_json::Map::new(),
            });
        }
        let (bytes, _) = write(&capsule).unwrap();
        kept.write(CapsuleOwner::Foreign, &id, &bytes).unwrap();
    }
}

fn search(table: &mut Table, project: &Project, label: &str) {
    let mut nothing = Series::default();
    for _ in 0..RUNS {
        nothing.time(|| hook::run(&project.ctxrelay(["--version"]), ""));
    }
    table.baseline("`ctxrelay --version`", &nothing.words());
    for (word, hits) in [("plum517", 1), ("plums", KEPT)] {
        for place in ["capsules", "all"] {
            let launch = project.ctxrelay(["search", word, "--in", place, "--json"]);
            // The index follows the record and the files in the background.
            let total = wait_until("an index", PATIENCE, || {
                let page = page(&launch);
                let is_whole = page["behind"].as_u64().unwrap_or_default() == 0;
                is_whole.then(|| page["total"].as_u64().unwrap())
            });
            assert!(total >= hits as u64, "{total} of {hits} for {word}");
            let mut times = Series::default();
            for _ in 0..RUNS {
                times.time(|| hook::run(&launch, ""));
            }
            table.row(
                &format!("search --in {place}, {total} hits"),
                &times.words(),
                label,
                "p99 <= 50 ms",
                times.p99() <= SEARCH_MS,
            );
        }
    }
}

fn page(launch: &Launch) -> serde_json::Value {
    serde_json::from_str(&hook::run(launch, "")).unwrap()
}

/// The id of the last of them.
fn open(table: &mut Table, project: &Project, label: &str) -> String {
    let mut times = Series::default();
    for number in 0..TASKS {
        let title = format!("Task {number}");
        operator(project, &["capsule", "new", &title], &mut times);
    }
    row(table, "capsule new", &times, label, OPEN_MS);
    let list = page(&project.ctxrelay(["capsule", "list", "--json"]));
    list["capsules"][0]["id"].as_str().unwrap().to_owned()
}

/// With as much as a long day of work leaves in it: what was said, each with its line, the files that
/// were touched, and the run of a gate.
fn fill(project: &Project, id: &str) {
    let mut claude = project.agent("claude");
    for number in 0..STATED {
        let text = format!("decision {number}: tokens of kind {number} live for one hour");
        let note = json!({"agent": "claude", "kind": "decision", "text": text});
        claude.expect("note/append", note);
    }
    let mut hook = project.agent("hook");
    let mut told = |event: &str, path: Option<&Path>| {
        let params = json!({"event": event, "claudePid": null, "tool": "Write", "path": path});
        hook.expect("hook/report", params);
    };
    for turn in 0..FILES / TURN_FILES {
        told("UserPromptSubmit", None);
        for file in 0..TURN_FILES {
            let path = format!("src/part{turn}/file{file}.rs");
            let path = project.write(&path, &"pub fn one() {}\n".repeat(200));
            told("PostToolUse", Some(&path));
        }
        told("Stop", None);
    }
    let gates = json!({"gates": [{"name": "unit", "cmd": "true"}]});
    project.write(".contextrelay/config.json", &gates.to_string());
    let mut trust = Pty::spawn(&project.ctxrelay(["trust"]));
    trust.wait_for_text("Type `trust`");
    trust.type_text("trust\r");
    assert_eq!(trust.wait_exit(), 0, "{}", trust.screen());
    let mut gates = Pty::spawn(&project.ctxrelay(["gates", "run"]));
    assert_eq!(gates.wait_exit(), 0, "{}", gates.screen());
    let show = project.ctxrelay(["capsule", "show", id, "--json"]);
    wait_until("a filled task", PATIENCE, || {
        let capsule = page(&show);
        let count = |member: &str| capsule[member].as_array().unwrap().len();
        let filled = ["decisions", "touched", "verification"].map(count);
        (filled == [STATED, FILES, 1]).then_some(())
    });
}

/// One made from the record of now.
fn show(table: &mut Table, project: &Project, id: &str, label: &str) {
    let mut times = Series::default();
    let launch = project.ctxrelay(["capsule", "show", id, "--json"]);
    for _ in 0..RUNS {
        times.time(|| hook::run(&launch, ""));
    }
    row(table, "capsule show, made anew", &times, label, MADE_MS);
}

/// The last file.
fn export(table: &mut Table, project: &Project, id: &str) -> String {
    let mut times = Series::default();
    let file = project.base().join("task.ctxcapsule.json");
    let name = file.to_str().unwrap().to_owned();
    for _ in 0..TASKS {
        let args = ["capsule", "export", id, "-o", &name, "--force"];
        operator(project, &args, &mut times);
    }
    row(table, "capsule export", &times, "", FILE_MS);
    name
}

fn check(table: &mut Table, project: &Project, id: &str) {
    let (mut git, mut times) = <(Series, Series)>::default();
    let run = |args: &[&str]| {
        hook::run(
            &project.program("git").args(args.iter().map(OsStr::new)),
            "",
        )
    };
    let launch = project.ctxrelay(["capsule", "check", id, "--json"]);
    for _ in 0..RUNS {
        git.time(|| {
            run(&["rev-parse", "HEAD"]);
            run(&["status", "--porcelain"])
        });
        times.time(|| hook::run(&launch, ""));
    }
    table.row(
        "capsule check",
        &times.words(),
        &format!("git rev-parse, git status: {}", ms(git.p50())),
        "<= git + 10 ms",
        times.p50() <= git.p50() + CHECK_MORE_MS,
    );
}

/// Without `--apply`: it is only checked.
fn import(table: &mut Table, project: &Project, file: &str) {
    let mut times = Series::default();
    let launch = project.ctxrelay(["capsule", "import", file, "--json"]);
    for _ in 0..RUNS {
        times.time(|| hook::run(&launch, ""));
    }
    row(table, "capsule import, only checked", &times, "", FILE_MS);
}

/// In a terminal, as only the operator may.
fn operator(project: &Project, args: &[&str], times: &mut Series) {
    let launch = project.ctxrelay(args.iter().copied());
    times.time(|| {
        let mut pty = Pty::spawn(&launch);
        assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
    });
}

fn row(table: &mut Table, what: &str, times: &Series, beside: &str, most_ms: f64) {
    let met = times.p50() <= most_ms;
    table.row(
        what,
        &times.words(),
        beside,
        &format!("<= {most_ms} ms"),
        met,
    );
}
