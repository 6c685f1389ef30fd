//! The secrets of the corpus wherever a task takes a text from, and everything in which it goes out.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use ctxrelay::core::redact::secret_samples::{SecretSample, one_of_each};
use serde_json::{Value, json};

use crate::capsule::{done, from_base64, json_of, listed, note};
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::wait::{timeout, wait_until};

/// A secret has gone when no piece of this length of it is left, in bytes: hashes stand in these texts
/// too, and shorter pieces in them by chance.
const PIECE: usize = 12;

/// So many are said for one task: what has no room in a capsule goes nowhere, and shows nothing.
const PER_TASK: usize = 60;

const KINDS: [&str; 5] = [
    "constraint",
    "decision",
    "assumption",
    "question",
    "next_step",
];

/// The pieces of all secrets by their length, each with the kind that it is of.
struct Pieces<'a>(BTreeMap<usize, HashMap<&'a [u8], &'a str>>);

impl<'a> Pieces<'a> {
    fn of(samples: &'a [SecretSample]) -> Self {
        let around: String = samples
            .iter()
            .map(|it| format!("{}\u{1}", it.around))
            .collect();
        let mut pieces: BTreeMap<usize, HashMap<_, _>> = BTreeMap::new();
        for sample in samples {
            for secret in &sample.secrets {
                let size = PIECE.min(secret.len()).max(1);
                for piece in secret.as_bytes().windows(size) {
                    if !around.contains(&*String::from_utf8_lossy(piece)) {
                        pieces.entry(size).or_default().insert(piece, &*sample.kind);
                    }
                }
            }
        }
        Self(pieces)
    }

    /// The kinds and pieces that are left in a text.
    fn left_in(&self, text: &str) -> Vec<String> {
        let mut left = Vec::new();
        for (size, pieces) in &self.0 {
            for piece in text.as_bytes().windows(*size) {
                if let Some(kind) = pieces.get(piece) {
                    left.push(format!("{kind}: {}", String::from_utf8_lossy(piece)));
                }
            }
        }
        left.dedup();
        left
    }
}

/// All texts of a value, as they are behind the escapes and the base64.
fn texts(value: &Value, all: &mut String) {
    match value {
        Value::String(text) => {
            all.push_str(text);
            all.push('\u{1}');
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, all)),
        Value::Object(members) => members.iter().for_each(|(key, member)| {
            all.push_str(key);
            all.push('\u{1}');
            match member.as_str().filter(|_| key == "data") {
                Some(data) => all.push_str(&from_base64(data)),
                None => texts(member, all),
            }
        }),
        _ => {}
    }
}

fn texts_of(value: &Value) -> String {
    let mut all = String::new();
    texts(value, &mut all);
    all
}

fn exported(project: &Project, id: &str, more: &[&str]) -> Value {
    let out = project.base().join("task.ctxcapsule.json");
    let args = ["export", id, "--force", "-o", out.to_str().unwrap()];
    done(project, &[&args, more].concat());
    serde_json::from_slice(&fs::read(&out).unwrap()).unwrap()
}

/// Whether git and the file system take it as the name of a file.
fn is_name(text: &str) -> bool {
    let is_odd = |letter: char| letter == '/' || letter.is_control();
    (1..=200).contains(&text.len()) && !text.contains(is_odd)
}

#[test]
fn no_secret_of_the_corpus_goes_out_with_a_task_or_is_found() {
    let samples = one_of_each();
    assert!(samples.len() > 200, "{}", samples.len());
    let pieces = Pieces::of(&samples);
    let project = Project::new();
    let named: Vec<String> = samples
        .iter()
        .filter(|sample| is_name(&sample.text))
        // A line of `.pgpass` is known where a line begins, and not behind a folder.
        .map(|sample| match sample.kind.contains("pgpass") {
            true => sample.text.clone(),
            false => format!("named/{}", sample.text),
        })
        .collect();
    assert!(named.len() > 100, "{}", named.len());
    let dirty: Vec<String> = (0..samples.len())
        .map(|at| format!("src/{at}.txt"))
        .collect();
    for path in named.iter().chain(&dirty) {
        project.write(path, "before\n");
    }
    project.git(&["add", "."]);
    project.git(&["commit", "-q", "-m", "before"]);
    let printed: String = samples.iter().map(|it| format!("{}\n", it.text)).collect();
    fs::write(project.base().join("printed.txt"), printed).unwrap();
    let gates = json!({"gates": [{"name": "tests", "cmd": "cat ../printed.txt"}]});
    project.write(".contextrelay/config.json", &gates.to_string());
    let _daemon = project.daemon();
    let mut pty = Pty::spawn(&project.ctxrelay(["trust"]));
    pty.wait_for_text("Type `trust`");
    pty.type_text("trust\r");
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());

    let mut claude = project.agent("claude");
    let mut ids = Vec::new();
    for (nth, some) in samples.chunks(PER_TASK).enumerate() {
        done(&project, &["new", &format!("Task {nth}")]);
        let all = listed(&project);
        let current = all.iter().find(|row| row["current"] == true).unwrap();
        ids.push(current["id"].as_str().unwrap().to_owned());
        for (sample, kind) in some.iter().zip(KINDS.iter().cycle()) {
            note(
                &mut claude,
                "claude",
                kind,
                &format!("plums\n{}", sample.text),
            );
        }
    }
    for (path, sample) in dirty.iter().zip(&samples) {
        project.write(path, &sample.text);
    }
    let mut hook = project.agent("hook");
    let mut report = |event: &str, path: Option<&str>| {
        let path = path.map(|path| project.write(path, "after\n"));
        let params = json!({"event": event, "claudePid": null, "tool": "Write", "path": path});
        hook.expect("hook/report", params);
    };
    report("UserPromptSubmit", None);
    for path in &named {
        report("PostToolUse", Some(path));
    }
    report("Stop", None);
    let last = ids.last().unwrap();
    wait_until("the files of the turn", timeout(), || {
        let shown = json_of(&project, "show", last);
        shown["touched"][0]["path"].is_string().then_some(())
    });
    let mut pty = Pty::spawn(&project.ctxrelay(["gates", "run"]));
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());

    let mut told = Vec::new();
    for (id, some) in ids.iter().zip(samples.chunks(PER_TASK)) {
        // The last task has what is left.
        let least = some.len().min(20);
        told.push((
            format!("export {id}"),
            texts_of(&exported(&project, id, &[])),
        ));
        for target in ["claude", "codex", "cursor", "opencode", "markdown"] {
            let args = [
                "capsule", "handoff", id, "--to", target, "--budget", "64000",
            ];
            let handoff = project.run(args).expect_success();
            assert!(handoff.stdout.matches("plums").count() >= least, "{target}");
            told.push((format!("{target} {id}"), handoff.stdout));
        }
    }
    let search = [
        "search", "plums", "--in", "all", "--json", "--limit", "1000",
    ];
    let found = project.run(search).expect_success().json();
    assert!(found["total"].as_u64() > Some(200), "{}", found["total"]);
    told.push(("search".to_owned(), texts_of(&found)));
    // These are the same for each task.
    let along = exported(&project, last, &["--patch", "--outputs"]);
    let output = from_base64(along["outputs"][0]["data"].as_str().unwrap());
    assert!(output.matches("[REDACTED_").count() > 100, "{output}");
    assert!(along["redaction"]["files"].as_array().unwrap().len() > 40);
    told.push(("what comes along".to_owned(), texts_of(&along)));
    // Each takes an export of its own, so that only those are tried that have an address in them.
    let remotes = samples.iter().map(|sample| sample.text.trim());
    let remotes = remotes.filter(|text| text.contains("://") && !text.contains('\n'));
    for remote in remotes {
        project.git(&["config", "remote.origin.url", remote]);
        told.push((
            remote.to_owned(),
            texts_of(&exported(&project, last, &[])["git"]),
        ));
    }
    let left = told
        .iter()
        .map(|(place, text)| (place, pieces.left_in(text)));
    let left: Vec<_> = left.filter(|(_, left)| !left.is_empty()).collect();
    assert!(left.is_empty(), "{left:#?}");
}
