//! Ledgers that are not what they should be: each says what is wrong and what to do, reading goes
//! on where there is something to read, and nothing is appended where that would do harm.

use std::fs::{self, File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::support::account::connect;
use crate::support::child::{Finished, run};
use crate::support::daemon::Daemon;
use crate::support::launch::Launch;
use crate::support::privileged;
use crate::support::project::Project;
use crate::support::small_disk::SmallDisk;

/// A project whose record has three notes in it, and no daemon.
struct Place {
    project: Project,
    ledger: PathBuf,
}

impl Place {
    fn new() -> Self {
        let project = Project::without_git();
        let daemon = project.daemon();
        let mut socket = connect(&project).unwrap();
        for text in ["one", "two", "three"] {
            socket.expect("note/append", json!({"agent": "codex", "text": text}));
        }
        let status = project.run(["status", "--json"]).expect_success().json();
        let ledger = PathBuf::from(status["ledger"]["path"].as_str().unwrap());
        drop(socket);
        daemon.stop().expect_success();
        // Or what does not continue the chain would be set aside: here it has to be read.
        fs::remove_dir_all(project.registry().join("heads")).unwrap();
        Self { project, ledger }
    }

    fn lines(&self) -> Vec<Vec<u8>> {
        let bytes = fs::read(&self.ledger).unwrap();
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        lines.map(<[u8]>::to_vec).collect()
    }

    /// Puts a line into the middle of the chain.
    fn insert(&self, line: &[u8]) {
        let mut lines = self.lines();
        lines.insert(3, [line, b"\n"].concat());
        fs::write(&self.ledger, lines.concat()).unwrap();
    }

    /// Puts lines before the chain, as if they had always been there, and forgets the chain: an
    /// older ledger.
    fn replace(&self, lines: &[&str]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&self.ledger, text).unwrap();
    }
}

/// What becomes of a record.
enum Comes {
    /// The daemon starts, so many entries of the old ones are read, so many lines are bad, and an
    /// append goes to the end.
    Open {
        entries: usize,
        bad_lines: u64,
        intact: bool,
    },
    /// The daemon does not start and says these words; the entries can be read all the same, or
    /// reading says these words.
    Refused {
        words: &'static [&'static str],
        reading: Result<(), &'static str>,
    },
}

struct Case {
    name: &'static str,
    lay: fn(&Place),
    comes: Comes,
}

/// Every line of the record in its place: six of them when a daemon has come and gone.
const ALL: usize = 6;

const fn broken(bad_lines: u64) -> Comes {
    Comes::Open {
        entries: ALL,
        bad_lines,
        intact: false,
    }
}

const CASES: [Case; 19] = [
    Case {
        name: "a directory",
        lay: |place| {
            fs::remove_file(&place.ledger).unwrap();
            fs::create_dir(&place.ledger).unwrap();
        },
        comes: Comes::Refused {
            words: &["is not a file", "move it away"],
            reading: Err("see that it is a file of yours"),
        },
    },
    Case {
        name: "a link",
        lay: |place| {
            let elsewhere = place.project.root().join("elsewhere");
            fs::rename(&place.ledger, &elsewhere).unwrap();
            std::os::unix::fs::symlink(&elsewhere, &place.ledger).unwrap();
        },
        comes: Comes::Refused {
            words: &["is a link", "replace it by the file itself"],
            reading: Err("no link"),
        },
    },
    Case {
        name: "a pipe",
        lay: |place| {
            fs::remove_file(&place.ledger).unwrap();
            let made = Command::new("mkfifo").arg(&place.ledger).status();
            assert!(made.unwrap().success());
        },
        comes: Comes::Refused {
            words: &["is not a file", "move it away"],
            reading: Err("see that it is a file of yours"),
        },
    },
    Case {
        name: "a ledger that a daemon of 3.13 writes",
        lay: |place| {
            let mut lock = place.ledger.clone().into_os_string();
            lock.push(".lock");
            fs::create_dir(&lock).unwrap();
            let pid = std::process::id().to_string();
            fs::write(Path::new(&lock).join("pid"), pid).unwrap();
        },
        comes: Comes::Refused {
            words: &["contextrelay kill", "start again"],
            reading: Ok(()),
        },
    },
    Case {
        name: "a line of ten megabytes that is no entry",
        lay: |place| place.insert(&vec![b'x'; 10 * 1024 * 1024]),
        comes: broken(1),
    },
    Case {
        name: "an entry of ten megabytes out of the chain",
        lay: |place| {
            let long = "x".repeat(10 * 1024 * 1024);
            let line = json!({"schema": "v1", "id": "long", "type": "note", "content": long});
            place.insert(line.to_string().as_bytes());
        },
        comes: broken(1),
    },
    Case {
        name: "null",
        lay: |place| place.insert(b"null"),
        comes: broken(1),
    },
    Case {
        name: "a list",
        lay: |place| place.insert(b"[{\"id\":\"x\",\"type\":\"note\"}]"),
        comes: broken(1),
    },
    Case {
        name: "an object that is no entry",
        lay: |place| place.insert(b"{\"schema\":\"v1\"}"),
        comes: broken(1),
    },
    Case {
        name: "an empty line",
        lay: |place| place.insert(b""),
        comes: broken(1),
    },
    Case {
        name: "invalid UTF-8",
        lay: |place| place.insert(b"{\"id\":\"\xff\xc0\xaf\",\"type\":\"note\"}"),
        comes: broken(1),
    },
    Case {
        name: "an entry twice",
        lay: |place| {
            let again = place.lines()[1].clone();
            place.insert(again.strip_suffix(b"\n").unwrap());
        },
        comes: broken(1),
    },
    Case {
        name: "zeros at the end, as a loss of power leaves them",
        lay: |place| {
            let mut file = File::options().append(true).open(&place.ledger).unwrap();
            file.write_all(&[0; 4096]).unwrap();
        },
        comes: Comes::Open {
            entries: ALL,
            bad_lines: 0,
            intact: true,
        },
    },
    Case {
        name: "a byte order mark",
        lay: |place| {
            let bytes = fs::read(&place.ledger).unwrap();
            fs::write(&place.ledger, [b"\xef\xbb\xbf", &bytes[..]].concat()).unwrap();
        },
        comes: Comes::Open {
            entries: ALL - 1,
            bad_lines: 1,
            intact: false,
        },
    },
    Case {
        name: "lines that end as on Windows",
        lay: |place| {
            let text = fs::read_to_string(&place.ledger).unwrap();
            fs::write(&place.ledger, text.replace('\n', "\r\n")).unwrap();
        },
        comes: broken(0),
    },
    Case {
        name: "an older ledger with one id twice",
        lay: |place| {
            place.replace(&[
                r#"{"schema":"v1","id":"a","type":"note","content":"first"}"#,
                r#"{"schema":"v1","id":"a","type":"note","content":"second"}"#,
            ]);
        },
        comes: Comes::Open {
            entries: 2,
            bad_lines: 0,
            intact: true,
        },
    },
    Case {
        name: "a clock that jumps",
        lay: |place| {
            place.replace(&[
                r#"{"schema":"v1","id":"a","timestamp":253402300799000,"type":"note"}"#,
                r#"{"schema":"v1","id":"b","timestamp":-1,"type":"note","content":"x"}"#,
                r#"{"schema":"v1","id":"c","timestamp":"yesterday","type":"note"}"#,
                r#"{"schema":"v1","id":"d","timestamp":9223372036854775807,"type":"note"}"#,
            ]);
        },
        comes: Comes::Open {
            entries: 4,
            bad_lines: 0,
            intact: true,
        },
    },
    Case {
        name: "an empty file",
        lay: |place| fs::write(&place.ledger, "").unwrap(),
        comes: Comes::Open {
            entries: 0,
            bad_lines: 0,
            intact: true,
        },
    },
    Case {
        name: "no file",
        lay: |place| fs::remove_file(&place.ledger).unwrap(),
        comes: Comes::Open {
            entries: 0,
            bad_lines: 0,
            intact: true,
        },
    },
];

#[test]
fn every_bad_ledger_says_what_is_wrong_and_is_read_and_written_as_far_as_is_safe() {
    const AT_ONCE: usize = 4;
    std::thread::scope(|scope| {
        for some in CASES.chunks(CASES.len().div_ceil(AT_ONCE)) {
            scope.spawn(move || {
                for case in some {
                    // Which case it was, for whoever reads of a failed assertion.
                    eprintln!("case: {}", case.name);
                    let place = Place::new();
                    (case.lay)(&place);
                    match &case.comes {
                        Comes::Open {
                            entries,
                            bad_lines,
                            intact,
                        } => opens(case.name, &place, *entries, *bad_lines, *intact),
                        Comes::Refused { words, reading } => {
                            let started = place.project.run(["daemon", "--json"]);
                            refused(case.name, &started, words);
                            reads(case.name, &place, *reading);
                        }
                    }
                }
            });
        }
    });
}

/// Notes that were there and can be read, and the one of now.
#[track_caller]
fn opens(name: &str, place: &Place, entries: usize, bad_lines: u64, intact: bool) {
    let project = &place.project;
    let before = fs::read(&place.ledger).unwrap_or_default();
    let whole = before
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let daemon = project.daemon();
    let mut socket = connect(project).unwrap();
    socket.expect("note/append", json!({"agent": "codex", "text": "now"}));
    let status = project.run(["status", "--json"]).expect_success().json();
    assert_eq!(
        status["ledger"]["badLines"], bad_lines,
        "{name}: {status:#}"
    );
    let chain = if intact { "ok" } else { "broken" };
    assert_eq!(status["ledger"]["chain"], chain, "{name}: {status:#}");
    // What a start tells depends on what it finds; what was there before is still there.
    let now = fs::read(&place.ledger).unwrap();
    let new = now[whole..].split(|byte| *byte == b'\n').count() - 1;
    assert_eq!(
        status["ledger"]["entries"],
        (entries + new) as u64,
        "{name}"
    );
    let context = socket.expect("context/read", json!({"agent": "codex"}));
    assert!(context.to_string().contains("\"now\""), "{name}: {context}");
    drop(socket);
    daemon.stop().expect_success();

    // Nothing that lay there was touched but a torn end.
    let after = fs::read(&place.ledger).unwrap();
    assert!(after.starts_with(&before[..whole]), "{name}");
    let verified = project.run(["ledger", "verify", "--json"]);
    assert_eq!(
        verified.code(),
        if intact { 0 } else { 6 },
        "{name}: {verified:#?}"
    );
    let shown = project.run(["ledger", "verify"]);
    assert_eq!(
        shown.stdout.contains("broken"),
        !intact,
        "{name}: {shown:#?}"
    );
}

#[track_caller]
fn refused(name: &str, finished: &Finished, words: &[&str]) {
    assert_eq!(finished.code(), 3, "{name}: {finished:#?}");
    let error = &finished.json()["error"];
    let said = format!("{} {}", error["message"], error["hint"]);
    for word in words {
        assert!(said.contains(word), "{name}: {word:?} is not in {said}");
    }
    assert!(
        !error["hint"].as_str().unwrap().is_empty(),
        "{name}: {said}"
    );
}

#[track_caller]
fn reads(name: &str, place: &Place, reading: Result<(), &str>) {
    let listed = place.project.run(["ledger", "list", "--json"]);
    match reading {
        Ok(()) => {
            let listed = listed.expect_success().json();
            assert_eq!(listed["entries"].as_array().unwrap().len(), ALL, "{name}");
        }
        Err(words) => refused(name, &listed, &[words]),
    }
}

/// A mode keeps everybody out but root. Root is kept out by `strace`, if it may be used.
#[test]
fn a_ledger_that_may_not_be_opened_says_so() {
    let place = Place::new();
    fs::set_permissions(&place.ledger, Permissions::from_mode(0o000)).unwrap();
    let barred = |launch: Launch| launch;
    let denied: Box<dyn Fn(Launch) -> Launch> = if !rustix::process::geteuid().is_root() {
        Box::new(barred)
    } else if privileged::granted() {
        Box::new(|launch| denied(&place, &launch))
    } else {
        return;
    };
    let started = run(&denied(place.project.ctxrelay(["daemon", "--json"])));
    refused(
        "may not be opened",
        &started,
        &["may not be read or written", "chmod u+rw"],
    );
    let listed = run(&denied(
        place.project.ctxrelay(["ledger", "list", "--json"]),
    ));
    refused(
        "may not be opened",
        &listed,
        &["cannot read", "make it readable for you"],
    );
}

/// The same program, which cannot open the ledger.
fn denied(place: &Place, launch: &Launch) -> Launch {
    let mut traced = place
        .project
        .program("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-P"])
        .arg(&place.ledger)
        .args(["-e", "trace=openat", "-e", "inject=openat:error=EACCES"])
        .arg(&launch.program)
        .args(&launch.args);
    traced.env = launch.env.clone();
    traced
}

#[test]
fn a_project_on_a_read_only_disk_is_read_and_not_written() {
    if !privileged::granted() {
        return;
    }
    let place = Place::new();
    let project = &place.project;
    let disk = SmallDisk::over(project, &project.state(), 4096);
    disk.remount(project, &project.state(), "ro");
    let on_disk = |args: &[&str]| run(&disk.launch(&project.ctxrelay(args.iter().copied())));
    let started = on_disk(&["daemon", "--json"]);
    refused(
        "a read-only disk",
        &started,
        &["Read-only file system", "mount the disk"],
    );
    let listed = on_disk(&["ledger", "list", "--json"]).expect_success();
    assert_eq!(listed.json()["entries"].as_array().unwrap().len(), ALL);
    on_disk(&["ledger", "verify"]).expect_success();
    on_disk(&["status", "--json"]).expect_success();
    on_disk(&["recover", "--json"]).expect_success();

    disk.remount(project, &project.state(), "rw");
    let daemon = Daemon::start(&disk.launch(&project.ctxrelay(["daemon"])));
    daemon.stop().expect_success();
}

#[test]
fn a_record_with_another_name_is_refused_with_the_step_that_mends_it() {
    let place = Place::new();
    let Place { project, ledger } = &place;
    fs::hard_link(ledger, ledger.with_extension("other")).unwrap();
    let refused = project.run(["--json", "daemon"]);
    assert_eq!(refused.code(), 3);
    let message = refused.json()["error"]["message"].to_string();
    assert!(message.contains("another name"), "{message}");
    let doctor = project.run(["doctor", "--json"]);
    assert_eq!(doctor.code(), 6);
    let checks = doctor.json()["checks"].clone();
    let mut checks = checks.as_array().unwrap().iter();
    let record = checks.find(|check| check["id"] == "record").unwrap();
    assert_eq!(record["ok"], false, "{record}");
    // The step, as it is said.
    let hint = record["hint"].as_str().unwrap();
    let step = hint.split_once(": ").unwrap().1;
    let mended = Command::new("sh").args(["-c", step]).status().unwrap();
    assert!(mended.success(), "{step}");
    project.daemon().stop().expect_success();
}
