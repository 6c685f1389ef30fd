//! Capsules that are not what they say, disks that are full, and imports that meet: one clear
//! sentence, and nothing half written.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::capsule::{clone_of, done, imported, in_terminal, listed, login};
use crate::support::launch::Launch;
use crate::support::operator::socket;
use crate::support::privileged;
use crate::support::project::{Project, names};
use crate::support::pty::Pty;
use crate::support::small_disk::SmallDisk;
use crate::support::wait::{timeout, wait_until};

/// A task with something said for it, and its file.
fn exported(project: &Project) -> (String, String) {
    let id = login(project);
    let file = project.base().join("login.ctxcapsule.json");
    let file = file.to_str().unwrap().to_owned();
    done(project, &["export", &id, "-o", &file]);
    (id, file)
}

/// The same program, whose files may not grow beyond half a KiB: a part of a write goes through, as
/// on a disk that runs full.
fn short_of_room(project: &Project, args: &[&str]) -> Launch {
    with_room(project, 1, args)
}

/// As that, for so many times half a KiB.
fn with_room(project: &Project, halves: u32, args: &[&str]) -> Launch {
    let limited = format!(r#"trap "" XFSZ; ulimit -f {halves}; exec "$0" "$@""#);
    let plain = project.ctxrelay(args.iter().copied());
    let mut launch = project
        .program("sh")
        // The signal that comes with the limit would end it; a full disk sends none.
        .args(["-c", &limited])
        .arg(&plain.program)
        .args(&plain.args);
    launch.env = plain.env;
    launch
}

/// Its exit code and what it says, in one line.
#[track_caller]
fn told_by(launch: &Launch) -> (u32, String) {
    let mut pty = Pty::spawn_sized(launch, 200, 50);
    let code = pty.wait_exit();
    (code, pty.screen().replace('\n', " "))
}

/// An edit of a task whose editor waits, then adds a constraint below this heading, and what has it go
/// on.
#[track_caller]
fn editing(project: &Project, id: &str, heading: &str) -> (Pty, impl FnOnce() + use<>) {
    let [begun, go] = ["begun", "go"].map(|name| project.base().join(name));
    for left in [&begun, &go] {
        let _ = fs::remove_file(left);
    }
    let script = format!(
        ": > '{}'; while [ ! -e '{}' ]; do sleep 0.05; done\n\
         sed -i 's/^# Constraints$/{heading}\\n- no new table/' \"$1\"\n",
        begun.display(),
        go.display()
    );
    let editor = project.base().join("editor.sh");
    fs::write(&editor, script).unwrap();
    let launch = project
        .ctxrelay(["capsule", "edit", id])
        .env_remove("VISUAL")
        .env("EDITOR", format!("sh {}", editor.display()));
    let pty = Pty::spawn_sized(&launch, 400, 50);
    wait_until("the editor", timeout(), || begun.exists().then_some(()));
    (pty, move || fs::write(&go, "").unwrap())
}

/// Its exit code, what it says, and what is in the file that it names.
#[track_caller]
fn kept_of(pty: &mut Pty) -> (u32, String, String) {
    let code = pty.wait_exit();
    let said = pty.screen().replace('\n', " ");
    let (_, path) = said.split_once("what you wrote is in ").expect(&said);
    let path = Path::new(path.split_once(';').unwrap().0);
    let mode = path.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = fs::read_to_string(path).unwrap();
    (code, said, text)
}

/// The entries that tell of an import.
fn imports(project: &Project) -> Vec<Value> {
    let entries = project.ledger().into_iter();
    let told = |entry: &Value| {
        entry["content"]
            .as_str()
            .unwrap_or("")
            .contains("from elsewhere")
    };
    entries.filter(told).collect()
}

fn foreign(project: &Project) -> Vec<String> {
    let folder = project.state().join("capsules/foreign");
    let all = if folder.is_dir() {
        names(&folder)
    } else {
        Vec::new()
    };
    all.into_iter()
        .filter(|name| !name.ends_with(".lock"))
        .collect()
}

#[test]
fn an_export_without_room_says_so_and_leaves_what_was_there() {
    let project = Project::live();
    let (id, file) = exported(&project);
    let before = fs::read(&file).unwrap();
    let folder = project.base().join("out");
    fs::create_dir(&folder).unwrap();
    let new = folder.join("new.json");
    let new = new.to_str().unwrap();
    for args in [
        &["capsule", "export", &id, "-o", new][..],
        &["capsule", "export", &id, "--force", "-o", &file],
        &["capsule", "handoff", &id, "--to", "cursor", "-o", new],
    ] {
        let (code, said) = told_by(&short_of_room(&project, args));
        assert_eq!(code, 3, "{args:?}: {said}");
        assert!(
            said.contains("File too large") && said.contains("room"),
            "{said}"
        );
    }
    assert_eq!(fs::read(&file).unwrap(), before);
    assert_eq!(names(&folder), [""; 0]);
    // As far as the record goes it was never exported anew.
    done(&project, &["export", &id, "-o", new]);
    assert_eq!(fs::read(new).unwrap(), before);
}

#[test]
fn what_was_written_in_an_editor_is_kept_where_it_cannot_be_recorded() {
    let project = Project::new();
    let daemon = project.daemon();
    let id = login(&project);
    // A heading that there is not.
    let (mut pty, go) = editing(&project, &id, "# Constraint");
    go();
    let (code, said, text) = kept_of(&mut pty);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("`# Constraint`, `- no new table`"), "{said}");
    assert!(text.contains("# Constraint\n- no new table\n"), "{text}");
    // Closed meanwhile.
    let (mut pty, go) = editing(&project, &id, "&");
    done(&project, &["close", &id]);
    go();
    let (code, said, text) = kept_of(&mut pty);
    assert_eq!(code, 3, "{said}");
    assert!(text.contains("# Constraints\n- no new table\n"), "{text}");
    // What is closed by then opens no editor.
    let edit = project
        .ctxrelay(["capsule", "edit", &id])
        .env_remove("VISUAL")
        .env("EDITOR", "false");
    let (code, said) = told_by(&edit);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains(&format!("capsule reopen {id}")), "{said}");
    done(&project, &["reopen", &id]);
    // No daemon any more.
    let (mut pty, go) = editing(&project, &id, "&");
    daemon.stop();
    go();
    let (code, said, text) = kept_of(&mut pty);
    assert_eq!(code, 4, "{said}");
    assert!(text.contains("# Constraints\n- no new table\n"), "{text}");
    let (code, said) = told_by(&edit);
    assert_eq!(code, 4, "{said}");
    assert!(!said.contains("EDITOR"), "{said}");
}

#[test]
fn an_import_without_room_keeps_nothing_and_records_nothing() {
    let project = Project::live();
    let (_, file) = exported(&project);
    let clone = clone_of(&project);
    let _daemon = clone.daemon();
    let apply = ["capsule", "import", &file, "--apply"];
    let (code, said) = told_by(&short_of_room(&clone, &apply));
    assert_eq!(code, 3, "{said}");
    assert!(
        said.contains("File too large") && said.contains("room"),
        "{said}"
    );
    assert_eq!((foreign(&clone).len(), imports(&clone).len()), (0, 0));
    assert!(listed(&clone).is_empty());
    done(&clone, &apply[1..]);
    assert_eq!((foreign(&clone).len(), imports(&clone).len()), (1, 1));
}

#[test]
fn a_task_from_elsewhere_is_not_changed_and_what_can_be_done_with_it_is_told() {
    let project = Project::live();
    let (id, file) = exported(&project);
    let clone = clone_of(&project);
    let _daemon = clone.daemon();
    done(&clone, &["import", &file, "--apply"]);
    for args in [
        &["capsule", "use", &id][..],
        &["capsule", "edit", &id, "--goal", "x"],
        &["capsule", "close", &id],
        &["capsule", "reopen", &id],
    ] {
        let (code, said) = told_by(&clone.ctxrelay(args.iter().copied()));
        assert_eq!(code, 3, "{args:?}: {said}");
        for words in ["brought from elsewhere", "capsule new", "capsule handoff"] {
            assert!(said.contains(words), "{args:?}: {said}");
        }
    }
}

#[test]
fn a_patch_without_room_changes_no_file() {
    let project = Project::new();
    let long = "a line\n".repeat(2_000);
    for (path, text) in [
        ("a.txt", "one\n"),
        ("deep/b.txt", &*long),
        ("old.txt", "old\n"),
    ] {
        project.write(path, text);
    }
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "before"]);
    let daemon = project.daemon();
    let id = login(&project);
    let files = ["a.txt", "deep/b.txt", "new/c.txt"];
    project.write(files[0], "two\n");
    project.write(files[1], &format!("{long}the end\n"));
    project.write(files[2], "new\n");
    project.git(&["add", "new"]);
    fs::remove_file(project.root().join("old.txt")).unwrap();
    let file = project.base().join("login.ctxcapsule.json");
    let file = file.to_str().unwrap();
    done(&project, &["export", &id, "--patch", "-o", file]);
    daemon.stop();
    let clone = clone_of(&project);
    let _daemon = clone.daemon();
    let apply = ["capsule", "import", file, "--apply"];
    let put_in = |launch: &Launch, word: &str| {
        let mut pty = Pty::spawn_sized(launch, 200, 50);
        pty.wait_for_text("Type `patch`");
        pty.type_text(word);
        (pty.wait_exit(), pty.screen().replace('\n', " "))
    };
    // Kept, and left out.
    assert_eq!(put_in(&clone.ctxrelay(apply), "no\r").0, 0);
    let (code, said) = put_in(&with_room(&clone, 16, &apply), "patch\r");
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("no file is changed"), "{said}");
    assert_eq!(clone.read(files[0]), "one\n");
    assert_eq!(clone.read(files[1]), long);
    assert_eq!(clone.read("old.txt"), "old\n");
    assert_eq!(names(&clone.root().join("deep")), ["b.txt"]);
    assert!(!clone.root().join("new").exists());
    // With room they are as they were sent.
    let (code, said) = put_in(&clone.ctxrelay(apply), "patch\r");
    assert_eq!(code, 0, "{said}");
    for path in files {
        assert_eq!(clone.read(path), project.read(path), "{path}");
    }
    assert!(!clone.root().join("old.txt").exists());
}

#[test]
fn an_export_onto_a_full_disk_says_so_and_leaves_nothing_there() {
    if !privileged::granted() {
        return;
    }
    let project = Project::live();
    let (id, file) = exported(&project);
    let folder = project.base().join("stick");
    fs::create_dir(&folder).unwrap();
    let disk = SmallDisk::over(&project, &folder, 64);
    let ballast = disk.outside(&folder.join("ballast"));
    fs::write(&ballast, vec![0; 80 * 1024]).unwrap_err();
    let out = folder.join("login.json");
    let export = ["capsule", "export", &id, "-o", out.to_str().unwrap()];
    let launch = disk.launch(&project.ctxrelay(export));
    let (code, said) = told_by(&launch);
    assert_eq!(code, 3, "{said}");
    assert!(
        said.contains("No space left") && said.contains("room"),
        "{said}"
    );
    assert_eq!(names(&disk.outside(&folder)), ["ballast"]);
    fs::remove_file(&ballast).unwrap();
    assert_eq!(told_by(&launch).0, 0);
    assert_eq!(
        fs::read(disk.outside(&out)).unwrap(),
        fs::read(&file).unwrap()
    );
}

#[test]
fn of_two_imports_at_once_one_is_recorded_and_the_other_finds_it_there() {
    let project = Project::live();
    let clone = clone_of(&project);
    let _other = clone.daemon();
    for round in 1..=4 {
        let title = format!("Task {round}");
        done(&project, &["new", &title]);
        let id = listed(&project)[0]["id"].as_str().unwrap().to_owned();
        let file = project.base().join(format!("{round}.json"));
        let file = file.to_str().unwrap();
        done(&project, &["export", &id, "-o", file]);
        let import = clone.ctxrelay(["capsule", "import", file, "--apply"]);
        let mut both = [0, 1].map(|_| Pty::spawn_sized(&import, 200, 50));
        let said = both.each_mut().map(|import| {
            assert_eq!(import.wait_exit(), 0, "{}", import.screen());
            import.screen()
        });
        let count = |words: &str| said.iter().filter(|said| said.contains(words)).count();
        let outcomes = (count("kept, as something"), count("it was here already"));
        assert_eq!(outcomes, (1, 1), "{said:#?}");
        assert_eq!(imports(&clone).len(), round);
    }
    // Two files of one task: both are recorded, and what is kept is what the record says last.
    let (id, one) = exported(&project);
    done(&project, &["edit", &id, "--constraint", "by Friday"]);
    let two = project.base().join("two.json");
    let two = two.to_str().unwrap();
    done(&project, &["export", &id, "-o", two]);
    let mut both = [&one, two].map(|file| {
        Pty::spawn_sized(
            &clone.ctxrelay(["capsule", "import", file, "--apply"]),
            200,
            50,
        )
    });
    for import in &mut both {
        assert_eq!(import.wait_exit(), 0, "{}", import.screen());
    }
    let recorded = imports(&clone);
    assert_eq!(recorded.len(), 6);
    let shown = clone.run(["capsule", "show", &id, "--json"]);
    let digest = shown.expect_success().json()["digest"].clone();
    let last = recorded[5]["content"].as_str().unwrap();
    assert!(last.contains(digest.as_str().unwrap()), "{last}");
    assert_eq!(foreign(&clone).len(), 5, "{:?}", foreign(&clone));
}

#[test]
fn a_second_file_of_one_task_says_whose_place_it_takes() {
    let project = Project::live();
    let (id, one) = exported(&project);
    done(&project, &["edit", &id, "--constraint", "by Friday"]);
    let two = project.base().join("two.json");
    let two = two.to_str().unwrap();
    done(&project, &["export", &id, "-o", two]);
    let clone = clone_of(&project);
    let _other = clone.daemon();
    let digest = imported(&clone, &[&one]).1["digest"].clone();
    done(&clone, &["import", &one, "--apply"]);
    for args in [&["import", two][..], &["import", two, "--apply"]] {
        let (code, screen) = in_terminal(&clone, args);
        let said = screen.replace('\n', "");
        assert_eq!(code, 0, "{said}");
        assert!(
            said.contains("in the place of the one with digest"),
            "{said}"
        );
        assert!(said.contains(digest.as_str().unwrap()), "{said}");
    }
    let (_, screen) = in_terminal(&clone, &["import", two]);
    assert!(!screen.contains("in the place of"), "{screen}");
}

/// Stands where the operator's socket was, and passes on what is said there: until the answer to the
/// third question, or to that question itself.
const CUT: &str = "const net = require('net'), fs = require('fs'); \
    const [place, moved, what] = process.argv.slice(1); fs.renameSync(place, moved); \
    net.createServer((ours) => { const theirs = net.connect(moved); let asks = false; \
    const cut = () => { ours.destroy(); theirs.destroy(); }; \
    ours.on('data', (data) => asks && what === 'question' && data.length > 20 \
        ? cut() : theirs.write(data)); \
    theirs.on('data', (data) => { asks ||= data.includes('\"id\":2'); \
        what === 'answer' && data.includes('\"id\":3') ? cut() : ours.write(data); }); \
    for (const end of [ours, theirs]) { end.on('error', cut); end.on('close', cut); } \
    }).listen(place, () => console.log('it stands there'));";

#[test]
fn an_import_whose_answer_is_lost_is_what_the_record_says_of_it() {
    let project = Project::live();
    let (id, file) = exported(&project);
    let apply = ["capsule", "import", &file, "--apply"];
    for (what, code, said) in [
        ("question", 4, "nothing was kept"),
        ("answer", 0, "kept, as something from elsewhere"),
    ] {
        let clone = clone_of(&project);
        let daemon = clone.daemon();
        let place = socket(&clone);
        let moved = place.with_extension("moved");
        let relay = clone.program("node").args(["-e", CUT]);
        let mut relay = Pty::spawn(&relay.arg(&place).arg(&moved).arg(what));
        relay.wait_for_text("it stands there");
        let (told, screen) = told_by(&clone.ctxrelay(apply));
        assert_eq!(told, code, "{screen}");
        assert!(screen.contains(said), "{screen}");
        let is_kept = code == 0;
        let kept: Vec<String> = is_kept.then(|| format!("{id}.json")).into_iter().collect();
        assert_eq!(foreign(&clone), kept, "{screen}");
        assert_eq!(imports(&clone).len(), kept.len());
        relay.crash();
        fs::rename(&moved, &place).unwrap();
        // Again, it is one.
        let (code, screen) = told_by(&clone.ctxrelay(apply));
        assert_eq!(code, 0, "{screen}");
        assert_eq!(screen.contains("it was here already"), is_kept, "{screen}");
        assert_eq!((foreign(&clone).len(), imports(&clone).len()), (1, 1));
        daemon.stop();
    }
}

#[test]
fn a_file_that_is_huge_deep_or_full_of_controls_is_refused_and_not_printed() {
    let project = Project::live();
    let (_, file) = exported(&project);
    let text = fs::read_to_string(&file).unwrap();
    let other = Project::new();
    let _other = other.daemon();
    let huge = project.base().join("huge.json");
    File::create(&huge)
        .unwrap()
        .set_len(100 * 1024 * 1024)
        .unwrap();
    let (code, told) = imported(&other, &[huge.to_str().unwrap()]);
    assert_eq!(code, 3, "{told}");
    assert!(
        told["error"]["message"]
            .as_str()
            .unwrap()
            .contains("longer than"),
        "{told}"
    );
    let hostile = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}";
    let titled = |title: &str| {
        let mut value: Value = serde_json::from_str(&text).unwrap();
        value["title"] = json!(title);
        value.to_string()
    };
    for (bytes, place) in [
        ("[".repeat(1_000_000), "[0][0]"),
        (format!("{}{}", r#"{"x":"#.repeat(500_000), "1"), "x"),
        (
            text.replacen(r#""branch":"#, r#""branch":"a","branch":"#, 1),
            "git.branch",
        ),
        (titled(hostile), "title"),
        (titled("a\u{0}b"), "title"),
        (
            text.replacen(r#""title":"#, &format!("\"{hostile}\":1,\"title\":"), 1),
            "",
        ),
        (hostile.repeat(10_000), "file"),
    ] {
        fs::write(&file, &bytes).unwrap();
        let (code, told) = imported(&other, &[&file]);
        assert_eq!((code, &told["intact"]), (6, &json!(false)), "{told}");
        let found = told["firstBad"]["path"].as_str().unwrap();
        assert!(found.starts_with(place), "{place}: {told}");
        let mut pty = Pty::spawn(&other.ctxrelay(["capsule", "import", &file, "--apply"]));
        assert_eq!(pty.wait_exit(), 6, "{}", pty.screen());
        let written = String::from_utf8_lossy(&pty.transcript()).into_owned();
        assert!(
            !written.contains("owned\u{7}") && !written.contains('\u{202e}'),
            "{written:?}"
        );
    }
    assert_eq!((foreign(&other).len(), imports(&other).len()), (0, 0));
}

/// Every file below a folder.
fn files_below(folder: &Path, found: &mut Vec<Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => files_below(&entry.path(), found),
            kind if kind.is_file() => match fs::read(entry.path()) {
                Ok(bytes) => found.push(bytes),
                // One that the daemon is just writing has another name in the next moment.
                Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{entry:?}"),
            },
            _ => {}
        }
    }
}

#[test]
fn a_secret_that_gh_prints_is_in_no_file_and_in_no_list() {
    use crate::support::fake_gh::{FakeGh, comment};
    let project = Project::live();
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let gh = FakeGh::of(&project);
    let mut said = comment(
        1,
        &format!("<p>P1: it prints {secret}</p> <img alt=\"{secret}\">"),
    );
    said["path"] = json!(format!("src/{secret}.rs"));
    said["user"]["login"] = json!(secret);
    said["html_url"] = json!(format!(
        "https://{secret}@github.com/acme/api/pull/12#{secret}"
    ));
    gh.comments(&[said]);
    let mut pty = Pty::spawn_sized(&project.ctxrelay(["review", "import"]), 200, 50);
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
    assert!(pty.screen().contains("1 new"), "{}", pty.screen());
    let list = project
        .run(["review", "list", "--json"])
        .expect_success()
        .stdout;
    let show = project
        .run(["review", "show", "gh:rc:1"])
        .expect_success()
        .stdout;
    assert!(show.contains("REDACTED"), "{show}");
    let mut files = Vec::new();
    files_below(&project.state(), &mut files);
    let transcript = pty.transcript();
    files.extend([list.into_bytes(), show.into_bytes(), transcript]);
    for bytes in files {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(&secret), "{text}");
    }
}

#[test]
fn a_file_that_is_no_capsule_is_told_what_was_wanted_and_what_it_is() {
    let project = Project::new();
    project.begin();
    let file = project.base().join("notes.md");
    let name = file.to_str().unwrap();
    for (text, found) in [
        (
            "# Notes on the login\n",
            "it begins with `# Notes on the login`",
        ),
        ("", "it is empty"),
        ("7", "it begins with `7`"),
    ] {
        fs::write(&file, text).unwrap();
        for args in [&["import", name][..], &["import", name, "--apply"]] {
            let words = ["capsule"].into_iter().chain(args.iter().copied());
            let told = project.run(words);
            let said = format!("{} {}", told.stdout, told.stderr);
            assert_eq!(told.code(), 6, "{told:?}");
            assert!(said.contains("`ctxrelay capsule export`"), "{said}");
            assert!(said.contains(found), "{said}");
        }
    }
}
