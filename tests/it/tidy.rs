//! The rules of the house that a compiler does not hold: who imports whom, who may touch the
//! clock, the disk and the terminal.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use self::needs::{calls, impls, imports, large_cycles, methods};
use self::prose::{comments, compared, other_constants, quaint_word, sentences};

mod needs;
mod prose;

/// The rooms, and which of them each may import. `core` with
/// `wire` and `store` are crates: cargo holds their arrows, but for the one below.
const ARROWS: [(&str, &[&str]); 7] = [
    ("adapters", &["core", "wire"]),
    ("daemon", &["core", "wire", "store", "adapters"]),
    // A client also reads where the daemon is (`store::dirs`, secrets, the sentinel).
    ("client", &["core", "wire", "store", "daemon"]),
    ("bridge", &["core", "wire", "client"]),
    ("deck", &["core", "wire", "client"]),
    (
        "demo",
        &[
            "core", "wire", "store", "adapters", "daemon", "client", "bridge", "host",
        ],
    ),
    // One file a verb: it starts what agents start, and `daemon`, `deck` and `demo` from their verbs.
    (
        "cli",
        &[
            "core", "wire", "store", "adapters", "daemon", "client", "bridge", "deck", "demo",
            "host",
        ],
    ),
];

/// What of the daemon a command line may name: how one is started, replaced and told to end. All
/// else it asks for through `client`.
const DAEMON_OF_CLI: [&str; 5] = ["fault", "handle", "running", "start", "takeover"];

/// What `core` and the screen must not know.
const IMPURE: [&str; 6] = [
    "tokio::",
    "std::fs",
    "std::net",
    "std::process",
    "SystemTime::now",
    "Instant::now",
];

struct Source {
    path: PathBuf,
    text: String,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The code of a folder without its tests.
fn sources(folder: &str) -> Vec<Source> {
    let mut found = Vec::new();
    collect(&root().join(folder), &mut found);
    assert!(!found.is_empty(), "nothing in {folder}");
    found
}

fn collect(folder: &Path, found: &mut Vec<Source>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "tests" && name != "snapshots" {
                collect(&path, found);
            }
        } else if name.ends_with(".rs") && name != "tests.rs" && name != "testing.rs" {
            let text = fs::read_to_string(&path).unwrap();
            let text = match text.find("#[cfg(test)]\nmod tests {") {
                Some(at) => text[..at].to_owned(),
                None => text,
            };
            found.push(Source { path, text });
        }
    }
}

fn code_lines(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    source
        .text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(at, line)| (at + 1, line))
}

#[test]
fn every_room_imports_only_what_its_arrows_allow() {
    let rooms = [
        "core", "wire", "store", "adapters", "daemon", "client", "bridge", "deck", "demo", "cli",
        "host",
    ];
    let mut wrong = Vec::new();
    for (room, allowed) in ARROWS {
        for source in sources(&format!("src/{room}")) {
            for (at, line) in code_lines(&source) {
                for other in rooms {
                    let names_it = line.contains(&format!("crate::{other}::"))
                        || line.contains(&format!("crate::{other};"));
                    if names_it && other != room && !allowed.contains(&other) {
                        wrong.push(format!("{}:{at}: {}", source.path.display(), line.trim()));
                    }
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "against the arrows:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn the_command_line_starts_a_daemon_and_does_not_reach_into_it() {
    let mut wrong = Vec::new();
    for source in sources("src/cli") {
        for (at, line) in code_lines(&source) {
            let Some((_, rest)) = line.split_once("crate::daemon::") else {
                continue;
            };
            let module = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            if !module.take(1).all(|name| DAEMON_OF_CLI.contains(&name)) {
                wrong.push(format!("{}:{at}: {}", source.path.display(), line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "past the client:\n{}", wrong.join("\n"));
}

/// `wire` lies in the crate of `core`, which does not know how it is written down.
#[test]
fn core_does_not_know_its_formats() {
    let wire = root().join("src/core/wire");
    let wrong: Vec<String> = sources("src/core")
        .iter()
        .filter(|source| !source.path.starts_with(&wire))
        .flat_map(|source| {
            code_lines(source)
                .filter(|(_, line)| {
                    line.contains("crate::wire") || line.contains("use super::wire")
                })
                .map(|(at, _)| format!("{}:{at}", source.path.display()))
        })
        .collect();
    assert!(wrong.is_empty(), "against the arrows: {wrong:#?}");
}

#[test]
fn core_and_screen_know_no_clock_no_disk_and_no_runtime() {
    let mut wrong = Vec::new();
    for folder in ["src/core", "ui/src"] {
        for source in sources(folder) {
            for (at, line) in code_lines(&source) {
                if IMPURE.iter().any(|impure| line.contains(impure)) {
                    wrong.push(format!("{}:{at}: {}", source.path.display(), line.trim()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "impure:\n{}", wrong.join("\n"));
}

#[test]
fn colours_are_roles_outside_of_the_theme() {
    let mut wrong = Vec::new();
    for source in sources("ui/src") {
        let path = source.path.display().to_string();
        if path.contains("/theme/") || path.contains("svg") {
            continue;
        }
        for (at, line) in code_lines(&source) {
            if line.contains("Color::") {
                wrong.push(format!("{path}:{at}: {}", line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "colours by hand:\n{}", wrong.join("\n"));
}

/// What draws on a terminal, opens it, or writes to stdout.
const TO_THE_TERMINAL: [&str; 5] = [
    "stdout()",
    "/dev/tty",
    "execute!(",
    "enable_raw_mode",
    "EnterAlternateScreen",
];

/// The files that may, and what for: as the invariants in the head of `src/lib.rs` have it.
const AT_THE_TERMINAL: [(&str, &str); 8] = [
    ("deck/terminal/term.rs", "the screen"),
    ("deck/terminal/clipboard.rs", "a copy through the terminal"),
    (
        "deck/terminal/editor.rs",
        "who has the terminal: an editor that hangs",
    ),
    ("bridge/doorbell.rs", "its lines"),
    ("cli/agents/hook.rs", "is handed to the bridge's hook"),
    ("cli/output.rs", "what a verb prints, and a copy"),
    ("cli/signing/passphrase.rs", "a passphrase"),
    (
        "cli/signing/ssh_sign.rs",
        "a passphrase that ssh-keygen asks for",
    ),
];

#[test]
fn only_the_deck_has_the_terminal_and_few_write_to_stdout() {
    let src = root().join("src");
    let mut wrong = Vec::new();
    let mut idle: BTreeSet<&str> = AT_THE_TERMINAL.iter().map(|(name, _)| *name).collect();
    for source in sources("src") {
        let name = source
            .path
            .strip_prefix(&src)
            .unwrap()
            .display()
            .to_string();
        // A child's own, what is only asked about, and a path that `core` reads in a command.
        let is_other = |line: &str| {
            let asks = ["take_stdout()", "is_terminal("];
            asks.iter().any(|word| line.contains(word)) || name.starts_with("core/")
        };
        for (at, line) in code_lines(&source) {
            let touches = TO_THE_TERMINAL.iter().any(|word| line.contains(word));
            if !touches || is_other(line) {
                continue;
            }
            if AT_THE_TERMINAL.iter().any(|(allowed, _)| name == *allowed) {
                idle.remove(name.as_str());
            } else {
                wrong.push(format!("{name}:{at}: {}", line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "terminal by hand:\n{}", wrong.join("\n"));
    assert!(idle.is_empty(), "no longer at the terminal: {idle:?}");
}

/// The drawing of who may import whom.
#[test]
fn the_drawing_of_the_rooms_has_all_of_them_and_is_the_same_in_both_places() {
    let read = |file: &str| fs::read_to_string(root().join(file)).unwrap();
    let (head, readme) = (read("src/lib.rs"), read("README.md"));
    let drawing = |text: &str, behind: &str| -> Vec<String> {
        let lines = text.lines().map(|line| line.trim_start_matches("//!"));
        let lines = lines.map(|line| line.trim().to_owned());
        let lines = lines.skip_while(|line| !line.starts_with("main ─►"));
        lines.take_while(|line| line != behind).collect()
    };
    let drawn = drawing(&head, "");
    assert_eq!(drawn, drawing(&readme, "```"));
    for room in ARROWS
        .map(|(room, _)| room)
        .iter()
        .chain(&["host", "store"])
    {
        let has_it = |line: &String| line.split([' ', ',', ':']).any(|word| word == *room);
        assert!(drawn.iter().any(has_it), "{room} is not drawn");
    }
}

/// Whether a file's path is this one, or ends with it.
fn ends_path(file: &str, name: &str) -> bool {
    file.strip_suffix(name)
        .is_some_and(|folder| folder.is_empty() || folder.ends_with("::"))
}

/// Whether a file is named by the end of its path, and that says which it is.
fn assert_names_one(files: &[(String, String)], name: &str) {
    let named = files.iter().map(|(file, _)| file.as_str());
    let named: Vec<&str> = named.filter(|file| ends_path(file, name)).collect();
    let folder = named.iter().min_by_key(|file| file.len());
    let folder = folder.unwrap_or_else(|| panic!("no {name} in the daemon"));
    let is_one = named.iter().all(|file| is_of_module(file, folder));
    assert!(is_one, "{name} may be any of {named:?}");
}

/// Behind each arrow there stands the file whose flow takes the event.
#[test]
fn the_arrows_of_the_events_name_files() {
    let files = files_of_the_daemon();
    let events = fs::read_to_string(root().join("src/daemon/event.rs")).unwrap();
    let arrows = events.lines().filter_map(|line| line.split_once("→ `"));
    let mut count = 0;
    for (_, names) in arrows {
        for name in names.split('`').step_by(2).filter(|name| !name.is_empty()) {
            count += 1;
            assert_names_one(&files, name);
        }
    }
    assert!(count > 40, "only {count} arrows");
}

/// The way of an approval names files, in the daemon and (with `/`) in other rooms and of tests. What begins with a
/// capital letter is a type, and what ends with `()` a function.
#[test]
fn the_way_of_an_approval_names_files() {
    let head = fs::read_to_string(root().join("src/daemon/mod.rs")).unwrap();
    let (_, way) = head.split_once("//! An approval, from its agent").unwrap();
    let (way, _) = way.split_once("//! Knows nothing").unwrap();
    let names = way.split('`').skip(1).step_by(2);
    let is_file = |name: &&str| !name.starts_with(char::is_uppercase) && !name.ends_with("()");
    let names = names
        .filter(is_file)
        .filter(|name| !["/", "/tests"].contains(name));
    // Fields of the world, and a member of Codex's answer.
    let names = names.filter(|name| !["open_approvals", "result", "ask_user"].contains(name));
    let (others, own): (Vec<&str>, Vec<&str>) = names.partition(|name| name.starts_with('/'));
    assert!(
        others.len() > 8 && own.len() > 8,
        "only {others:?}, {own:?}"
    );
    for name in others {
        let file = match name.strip_prefix("/ui/") {
            Some(of_screen) => format!("ui/src/{of_screen}.rs"),
            None if name.starts_with("/tests/") => format!("{}.rs", &name[1..]),
            None if name.ends_with(".md") => format!("src{name}"),
            None => format!("src{name}.rs"),
        };
        let file = root().join(file);
        assert!(file.is_file(), "no {}", file.display());
    }
    let files = files_of_the_daemon();
    for name in own {
        assert_names_one(&files, name);
    }
}

/// How long a file may be that is not one of tests, its comments included.
const LINES_MAX: usize = 500;

#[test]
fn no_source_file_is_too_long_to_be_read_at_once() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for folder in ["src", "ui/src"] {
        for Source { path, .. } in sources(folder) {
            // As it lies there: with the tests at its end.
            let lines = fs::read_to_string(&path).unwrap().lines().count();
            count += 1;
            if lines > LINES_MAX {
                wrong.push(format!("{}: {lines} lines", path.display()));
            }
        }
    }
    assert!(count > 500, "only {count} files found");
    assert!(
        wrong.is_empty(),
        "to be split by their types:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn type_names_say_what_a_type_is() {
    let forbidden = ["Manager", "Helper", "Util", "Info", "Processor"];
    let mut wrong = Vec::new();
    for folder in ["src", "ui/src"] {
        for source in sources(folder) {
            for (at, line) in code_lines(&source) {
                let declares = ["struct ", "enum ", "trait "]
                    .iter()
                    .find_map(|word| line.split_once(word))
                    .map(|(_, rest)| rest);
                let Some(rest) = declares else { continue };
                let name: String = rest
                    .chars()
                    .take_while(|letter| letter.is_alphanumeric())
                    .collect();
                if forbidden.iter().any(|word| name.ends_with(word)) {
                    wrong.push(format!("{}:{at}: {name}", source.path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "say what it is:\n{}", wrong.join("\n"));
}

#[test]
fn comments_are_plain_english() {
    let mut wrong = Vec::new();
    for folder in ["src", "ui/src"] {
        for source in sources(folder) {
            for (at, comment) in comments(&source.text) {
                if let Some(word) = quaint_word(&comment) {
                    wrong.push(format!("{}:{at}: {word}", source.path.display()));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "to be said plainly:\n{}",
        wrong.join("\n")
    );
}

/// The files that compare sentences, and why there is no type to compare instead.
const COMPARE_SENTENCES: [(&str, &str); 16] = [
    (
        "src/adapters/codex/server.rs",
        "Codex's own words in its log",
    ),
    (
        "src/adapters/codex/session/deliver.rs",
        "Codex's own words: its errors share a code",
    ),
    (
        "src/adapters/codex/session/queue.rs",
        "Codex's own words: its errors share a code",
    ),
    (
        "src/adapters/gh.rs",
        "the system's own words, from another process",
    ),
    (
        "src/core/capsule/render/section.rs",
        "a capsule of an earlier version tells it in no other way",
    ),
    (
        "src/core/entry/file_change.rs",
        "a part of the line's format, written there as well",
    ),
    (
        "src/core/entry/told_digest.rs",
        "a part of the line's format, written there as well",
    ),
    (
        "src/core/entry/wish.rs",
        "a part of the line's format, written there as well",
    ),
    (
        "src/core/managed_block.rs",
        "the marker of a block, written there as well",
    ),
    ("src/core/review/links.rs", "the foot of Codex's reviews"),
    (
        "src/core/review/quote.rs",
        "the frame of a quote, written there as well",
    ),
    (
        "src/core/wire/jsonrpc.rs",
        "serde_json's own words: it tells no kind",
    ),
    ("src/core/wire/line/hostile.rs", "of tests alone"),
    ("src/demo/claude.rs", "plays a model, which reads"),
    ("src/demo/codex/turn.rs", "plays a model, which reads"),
    (
        "src/store/queue/error.rs",
        "SQLite's own words: its errors share a code",
    ),
];

#[test]
fn no_room_compares_sentences() {
    let all = || ["src", "ui/src"].into_iter().flat_map(sources);
    let of_all: BTreeSet<String> = all().flat_map(|source| sentences(&source.text)).collect();
    assert!(of_all.len() > 50, "only {of_all:?}");
    let others: BTreeSet<String> = all()
        .flat_map(|source| other_constants(&source.text))
        .collect();
    let mut wrong = Vec::new();
    let mut idle: BTreeSet<&str> = COMPARE_SENTENCES.iter().map(|(name, _)| *name).collect();
    for source in all() {
        let path = source.path.strip_prefix(root()).unwrap();
        let name = path.display().to_string();
        // A name that is something else in another file is that where it is imported.
        let mut known: BTreeSet<String> = of_all.difference(&others).cloned().collect();
        for other in other_constants(&source.text) {
            known.remove(&other);
        }
        known.extend(sentences(&source.text));
        for (at, line) in code_lines(&source) {
            let is_assertion = line.trim_start().starts_with("assert");
            let Some(sentence) = compared(line, &known).filter(|_| !is_assertion) else {
                continue;
            };
            match COMPARE_SENTENCES.iter().find(|(file, _)| name == *file) {
                Some((file, _)) => drop(idle.remove(file)),
                None => wrong.push(format!("{name}:{at}: {sentence}")),
            }
        }
    }
    let wrong = wrong.join("\n");
    assert!(wrong.is_empty(), "compare a type, not its words:\n{wrong}");
    assert!(idle.is_empty(), "these compare none any longer: {idle:?}");
}

/// A verb's arguments and its own verbs are read with their module: `clear::Args`.
const NAMED_BY_MODULE: [&str; 2] = ["Args", "Verb"];

/// The screen knows no room of the product, and says these three things as it does.
const ALSO_OF_THE_SCREEN: [&str; 3] = ["Agent", "AgentState", "Party"];

#[test]
fn public_type_names_are_unique() {
    let mut places: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for folder in ["src", "ui/src"] {
        for source in sources(folder) {
            for (_, line) in code_lines(&source) {
                let Some(rest) = line.trim_start().strip_prefix("pub") else {
                    continue;
                };
                let mut words = rest
                    .split_whitespace()
                    .skip_while(|word| !["struct", "enum", "trait", "type"].contains(word));
                let Some(name) = words.nth(1) else { continue };
                let name: String = name
                    .chars()
                    .take_while(|letter| letter.is_alphanumeric())
                    .collect();
                places.entry(name).or_default().push(source.path.clone());
            }
        }
    }
    assert!(places.len() > 500, "only {} types found", places.len());
    places.retain(|name, places| {
        let screens = places
            .iter()
            .filter(|path| path.starts_with(root().join("ui")))
            .count();
        let is_both = ALSO_OF_THE_SCREEN.contains(&name.as_str()) && screens == 1;
        places.len() > 1 + usize::from(is_both) && !NAMED_BY_MODULE.contains(&name.as_str())
    });
    assert!(places.is_empty(), "two types of one name: {places:#?}");
}

/// What only a test with the real agents calls.
const OF_REAL_AGENTS: [&str; 3] = ["Pair::new", "agents::slot", "ctxrelay_with_agents"];

#[test]
fn the_tests_of_the_program_alone_need_no_agent() {
    let mut wrong = Vec::new();
    for source in sources("tests/it") {
        for (at, line) in code_lines(&source) {
            let is_list = line.starts_with("const OF_REAL_AGENTS");
            if !is_list && OF_REAL_AGENTS.iter().any(|call| line.contains(call)) {
                wrong.push(format!("{}:{at}: {}", source.path.display(), line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "real agents:\n{}", wrong.join("\n"));
}

#[test]
fn one_websocket_library_is_in_the_tree() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    for name in ["tungstenite", "tokio-tungstenite", "ratatui", "crossterm"] {
        let count = lock.matches(&format!("name = \"{name}\"\n")).count();
        assert_eq!(count, 1, "{name}");
    }
}

/// The files of a room by their modules' names, without comments.
fn files_of(room: &str) -> Vec<(String, String)> {
    let folder = root().join(room);
    sources(room)
        .into_iter()
        .map(|source| {
            let path = source.path.strip_prefix(&folder).unwrap();
            let name = path.with_extension("").display().to_string();
            let name = match &*name {
                "lib" => "",
                name => name.trim_end_matches("mod").trim_end_matches('/'),
            };
            let code: Vec<&str> = code_lines(&source).map(|(_, line)| line).collect();
            (name.replace('/', "::"), code.join("\n"))
        })
        .collect()
}

fn files_of_the_daemon() -> Vec<(String, String)> {
    files_of("src/daemon")
}

/// The folders of the rooms, each with the name that a path begins with there: a crate's has none.
const ROOMS: [(&str, &str); 10] = [
    ("src/core", ""),
    ("src/store", ""),
    ("src/adapters", "adapters"),
    ("src/daemon", "daemon"),
    ("src/client", "client"),
    ("src/bridge", "bridge"),
    ("src/deck", "deck"),
    ("src/demo", "demo"),
    ("src/cli", "cli"),
    ("ui/src", ""),
];

/// The groups that the owners stand in, each in a file of its name; a field of the loop is of that
/// name as well.
const GROUPS: [(&str, &str); 4] = [
    ("Base", "base"),
    ("Deliveries", "deliveries"),
    ("Agents", "agents"),
    ("Decisions", "decisions"),
];

/// What of the screen is one: its state holds the overlays, which draw themselves from it, and the
/// layout asks the panes for the room that they want.
const ONE_SCREEN: [&str; 14] = [
    "applies",
    "banner",
    "can_act_on",
    "counted_seconds",
    "deck",
    "detail_state",
    "layout",
    "notice_bar",
    "overlays",
    "panes",
    "receipt",
    "selected",
    "visited_places",
    "why_not",
];

/// Inside a room, files may know each other in pairs and not in larger cycles.
///
/// Not counted is what a file of a folder needs of the folder's own file: `clients::probes` and
/// `clients` are one owner in two files. Which flow of the daemon calls which: see below.
#[test]
fn no_cycle_of_imports_is_larger_than_a_pair() {
    let mut wrong = Vec::new();
    let is_of_screen = |file: &String| {
        let (first, _) = file.split_once("::").unwrap_or((file, ""));
        ONE_SCREEN.contains(&first)
    };
    for (room, name) in ROOMS {
        let mut cycles = large_cycles(&imports(name, &files_of(room)));
        cycles.retain(|cycle| room != "ui/src" || !cycle.iter().all(is_of_screen));
        wrong.extend(cycles.iter().map(|cycle| format!("{room}: {cycle:?}")));
    }
    assert!(
        wrong.is_empty(),
        "these files are one:\n{}",
        wrong.join("\n")
    );
}

/// A flow is an `impl` of `Daemon` or of a group of its owners, which calls the others without an
/// import. They may call each other in pairs and not in larger cycles: what leads back is told behind
/// what is being done, by an owner (`LaterInputs`, `Recorder`, `HeldEffects`), an event or a
/// continuation.
#[test]
fn no_cycle_of_flows_in_the_daemon_is_larger_than_a_pair() {
    let files = files_of_the_daemon();
    let mut needs = calls("Daemon", &GROUPS, &files);
    let cycles = large_cycles(&needs);
    assert!(cycles.is_empty(), "these flows are one: {cycles:#?}");
    // Nor by what one calls and another imports.
    for (name, imported) in imports("daemon", &files) {
        needs.entry(name).or_default().extend(imported);
    }
    let cycles = large_cycles(&needs);
    assert!(cycles.is_empty(), "these files are one: {cycles:#?}");
}

/// A crate that names files outside of its folder cannot be packaged.
#[test]
fn what_a_crate_includes_lies_in_its_folder() {
    // Only tests read them.
    let of_tests = [
        "src/core/redact/secret_samples.rs",
        "src/core/wire/line/hostile.rs",
    ];
    for (crate_folder, code) in [
        ("ui", "ui/src"),
        ("src/core", "src/core"),
        ("src/store", "src/store"),
    ] {
        let mut count = 0;
        for source in sources(code) {
            let path = source.path.strip_prefix(root()).unwrap();
            if of_tests.iter().any(|of_tests| path == Path::new(of_tests)) {
                continue;
            }
            for (at, _) in source.text.match_indices("include_") {
                let Some(named) = source.text[at..].split('"').nth(1) else {
                    continue;
                };
                let mut included = path.parent().unwrap().to_path_buf();
                for part in Path::new(named).components() {
                    match part {
                        Component::ParentDir => assert!(included.pop(), "{named}"),
                        part => included.push(part),
                    }
                }
                assert!(
                    included.starts_with(crate_folder) && root().join(&included).is_file(),
                    "{} includes {named}",
                    path.display()
                );
                count += 1;
            }
        }
        assert!(count > 0 || crate_folder == "src/core", "{crate_folder}");
    }
}

/// Where a continuation is called: by the loop, by what follows the recorder, and by what takes the
/// events of rows and of bodies.
const CALLS_CONTINUATIONS: [&str; 4] = [
    "base::recording",
    "deliveries::reading_bodies",
    "deliveries::storing",
    "run",
];

/// The flow that leaves a continuation goes on before it runs.
#[test]
fn no_flow_of_the_daemon_calls_a_continuation() {
    let calling: Vec<String> = files_of_the_daemon()
        .into_iter()
        .filter(|(name, code)| {
            !CALLS_CONTINUATIONS.contains(&name.as_str()) && code.contains("then(self")
        })
        .map(|(name, _)| name)
        .collect();
    assert!(calling.is_empty(), "{calling:?}");
}

/// Files that know the loop although one of its owners is of that folder: flows that stand in the
/// folder of their matter.
const FLOWS_BESIDE_AN_OWNER: [&str; 2] = ["takeover::begin", "tamper::alert"];

/// What an owner holds it changes by itself, and what has to follow it returns.
#[test]
fn no_owner_of_the_daemon_knows_the_loop() {
    let files = files_of_the_daemon();
    let is_of_the_loop = |name: &str| name == "owners" || name.starts_with("owners::");
    let imports = imports("daemon", &files);
    let owners: BTreeSet<&String> = imports
        .iter()
        .filter(|(name, _)| is_of_the_loop(name))
        .flat_map(|(_, owners)| owners)
        .filter(|owner| !is_of_the_loop(owner))
        .collect();
    let is_of_an_owner = |name: &str| {
        owners
            .iter()
            .any(|owner| name == *owner || name.starts_with(&format!("{owner}::")))
    };
    let wrong: Vec<&String> = imports
        .iter()
        .filter(|(name, _)| is_of_an_owner(name))
        .filter(|(name, _)| !FLOWS_BESIDE_AN_OWNER.contains(&name.as_str()))
        .filter(|(_, of)| of.iter().any(|name| is_of_the_loop(name)))
        .map(|(name, _)| name)
        .collect();
    assert!(owners.len() > 30, "only {owners:?}");
    assert!(wrong.is_empty(), "these know the loop: {wrong:#?}");
}

/// The fields of a struct in a file of the daemon, by their names and types.
fn fields(file: &str, of: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(root().join("src/daemon").join(file)).unwrap();
    let (_, fields) = text.split_once(&format!("pub struct {of} {{")).unwrap();
    let (fields, _) = fields.split_once("\n}").unwrap();
    let fields = fields.lines().filter_map(|line| {
        let (visibility, field) = line.trim().split_once(") ")?;
        let (name, of) = field.split_once(": ")?;
        let of = of.split(['<', ',']).next()?;
        (visibility.starts_with("pub(")).then(|| (name.to_owned(), of.to_owned()))
    });
    fields.collect()
}

/// The owners that are of the daemon's own types: the module of each, and its type.
fn owners() -> Vec<(String, String)> {
    let mut files = vec![("owners/mod.rs".to_owned(), "Daemon")];
    files.extend(GROUPS.map(|(group, field)| (format!("owners/{field}.rs"), group)));
    let mut owners = Vec::new();
    for (file, of) in files {
        let text = fs::read_to_string(root().join("src/daemon").join(&file)).unwrap();
        for (_, owner) in fields(&file, of) {
            let paths = text.lines().filter_map(|line| {
                let path = line
                    .strip_prefix("use ")?
                    .strip_suffix(&format!("::{owner};"))?;
                ["crate::daemon::", "super::"]
                    .into_iter()
                    .find_map(|room| path.strip_prefix(room))
            });
            owners.extend(paths.map(|module| (module.to_owned(), owner.clone())));
        }
    }
    owners.sort();
    owners.dedup();
    assert!(owners.len() > 35, "only {owners:?}");
    owners
}

fn is_of_module(file: &str, module: &str) -> bool {
    file == module || file.starts_with(&format!("{module}::"))
}

/// What one owner needs of another the flow between them hands over.
#[test]
fn no_owner_of_the_daemon_names_another() {
    let owners = owners();
    let mut wrong = Vec::new();
    for (file, code) in files_of_the_daemon() {
        let is_flow = FLOWS_BESIDE_AN_OWNER.contains(&file.as_str());
        let of = owners
            .iter()
            .find(|(module, _)| is_of_module(&file, module));
        let Some((own, _)) = of.filter(|_| !is_flow) else {
            continue;
        };
        let words = code.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let words: BTreeSet<&str> = words.collect();
        let others = owners.iter().filter(|(module, _)| module != own);
        let named = others.filter(|(_, name)| words.contains(name.as_str()));
        wrong.extend(named.map(|(_, name)| format!("{file}: {name}")));
    }
    assert!(wrong.is_empty(), "these know another owner: {wrong:#?}");
}

/// Who may change what an owner has, the compiler says.
#[test]
fn the_fields_of_the_owners_are_private() {
    let files = files_of_the_daemon();
    let mut wrong = Vec::new();
    for (module, name) in owners() {
        let own = files.iter().filter(|(file, _)| is_of_module(file, &module));
        let mut structs = own.flat_map(|(_, code)| code.split("struct ").skip(1));
        let declared = structs.find_map(|it| {
            let rest = it.strip_prefix(&name)?;
            let is_it = rest.starts_with([' ', '<', '(', ';']);
            // With braces, or a line without.
            let end = rest.find(";\n").into_iter().chain(rest.find("\n}")).min();
            is_it.then(|| &rest[..end.unwrap_or(rest.len())])
        });
        let declared = declared.unwrap_or_else(|| panic!("no {name} in {module}"));
        if declared.contains("    pub") || declared.contains("(pub") {
            wrong.push(format!("{module}: {name}"));
        }
    }
    assert!(wrong.is_empty(), "anybody may change these: {wrong:#?}");
}

/// What owners hand out to be changed, and why no method of theirs names each change.
const HANDED_OUT: [(&str, &str); 2] = [
    (
        "base::operations::takeover_mut",
        "a machine of the folder of takeovers, with private fields and a method for each change",
    ),
    (
        "agents::spoken_turns::ended",
        "a machine of core, which the simulation drives too, with a private field",
    ),
];

/// A private field is no wall where a method hands it out to be changed.
#[test]
fn no_owner_hands_out_what_it_has_to_be_changed() {
    let files = files_of_the_daemon();
    let (mut wrong, mut idle) = (Vec::new(), HANDED_OUT.map(|(name, _)| name).to_vec());
    let mut count = 0;
    for (module, owner) in owners() {
        let own = files.iter().filter(|(file, _)| is_of_module(file, &module));
        let blocks = own.flat_map(|(_, code)| impls(code));
        let blocks = blocks.filter(|(of, _)| *of == owner);
        for (name, returned) in blocks.flat_map(|(_, body)| methods(body)) {
            count += 1;
            let name = format!("{module}::{name}");
            if !returned.contains("mut ") {
                continue;
            }
            match idle.iter().position(|allowed| *allowed == name) {
                Some(at) => drop(idle.remove(at)),
                None => wrong.push(format!("{name}: {returned}")),
            }
        }
    }
    assert!(count > 400, "only {count} methods");
    assert!(wrong.is_empty(), "anybody may change these: {wrong:#?}");
    assert!(idle.is_empty(), "no longer handed out: {idle:?}");
}

/// What the messages are decided on is lent to the lanes' machines; other flows say what happened.
#[test]
fn only_the_lanes_decide_on_the_outbox() {
    let files = files_of_the_daemon().into_iter();
    let decides = |code: &str| {
        let bare: String = code.split_whitespace().collect();
        bare.contains("outbox.decide(")
    };
    let deciding = files.filter(|(_, code)| decides(code));
    let mut deciding: Vec<String> = deciding.map(|(file, _)| file).collect();
    deciding.sort();
    assert_eq!(
        deciding,
        ["agents::claude::delivering", "agents::codex::delivering"]
    );
}

/// A method of `Daemon` may change all that the loop has; one of a group only what it has, and what
/// it is lent. That is the compiler's to hold, as long as the owners stand in groups.
#[test]
fn the_loop_has_a_handful_of_fields_and_its_owners_stand_in_groups() {
    let of_the_loop = fields("owners/mod.rs", "Daemon");
    assert!(of_the_loop.len() <= 8, "more groups: {of_the_loop:?}");
    for (group, field) in GROUPS {
        assert!(of_the_loop.contains(&(field.to_owned(), group.to_owned())));
        // A group that is lent the loop, or another group as a whole, is no wall.
        let owners = fields(&format!("owners/{field}.rs"), group);
        assert!(owners.len() > 3, "only {owners:?}");
        for (name, of) in owners {
            let is_group = GROUPS.iter().any(|(group, _)| of == *group);
            assert!(!is_group && of != "Daemon", "{group}.{name}: {of}");
        }
    }
}

/// The walls that the compiler holds are those that one sees in the tree.
#[test]
fn an_owner_of_the_daemon_stands_in_the_folder_of_its_group() {
    let owners = owners();
    let mut wrong = Vec::new();
    for (group, folder) in GROUPS {
        for (name, of) in fields(&format!("owners/{folder}.rs"), group) {
            let modules = owners.iter().filter(|(_, owner)| *owner == of);
            // One type serves two groups: it stands with what any flow may need.
            let stands = |module: &str| {
                is_of_module(module, folder) || (of == "WorkQueue" && is_of_module(module, "base"))
            };
            let beside = modules.filter(|(module, _)| !stands(module));
            wrong.extend(beside.map(|(module, _)| format!("{group}.{name}: {module}")));
        }
    }
    assert!(wrong.is_empty(), "elsewhere: {wrong:#?}");
}

#[test]
fn every_field_of_the_loop_stands_in_the_table_of_its_owners() {
    let head = fs::read_to_string(root().join("src/daemon/mod.rs")).unwrap();
    let rows: Vec<&str> = head.lines().filter(|it| it.starts_with("//! |")).collect();
    let mut all = fields("owners/mod.rs", "Daemon");
    for (group, field) in GROUPS {
        all.extend(fields(&format!("owners/{field}.rs"), group));
    }
    let stands = |word: &str| rows.iter().any(|row| row.contains(&format!("`{word}`")));
    let left_out: Vec<_> = all
        .iter()
        .filter(|(name, of)| !stands(name) && !stands(of))
        .collect();
    assert!(all.len() > 40, "only {all:?}");
    assert!(left_out.is_empty(), "in no row: {left_out:?}");
}

/// What only a takeover between two processes has to do with; the first as the end of a word.
const OF_A_TAKEOVER: [&str; 12] = [
    "Takeover",
    "NextDaemon::",
    "TakeoverError",
    "LoopState",
    "CarriedState",
    "LaneState",
    "CarriedFlow",
    "CarriedClaude",
    "CarriedPair",
    "TakeoverProgress",
    "fd_channel",
    "OwnerLock::take_over(",
];

/// The files outside of `daemon/takeover/` that may name it, and why they are not of it: see the
/// head of that folder.
const BESIDE_THE_TAKEOVER: [(&str, &str); 25] = [
    (
        "adapters/mod.rs",
        "declares bytes and descriptors through a socket",
    ),
    ("core/delivery/claude.rs", "its own part of what is left"),
    (
        "core/delivery/claude/carried.rs",
        "its own part of what is left",
    ),
    (
        "core/delivery/claude/input.rs",
        "its own part of what is left",
    ),
    ("core/delivery/codex.rs", "its own part of what is left"),
    (
        "core/delivery/codex/carried.rs",
        "its own part of what is left",
    ),
    (
        "core/delivery/codex/state.rs",
        "its own part of what is left",
    ),
    (
        "daemon/agents/claude/presence.rs",
        "who comes to the next process",
    ),
    (
        "daemon/agents/claude_lane.rs",
        "its own part of what is left",
    ),
    (
        "daemon/agents/claude_lane/carried.rs",
        "its own part of what is left",
    ),
    (
        "daemon/agents/codex_lane.rs",
        "its own part of what is left",
    ),
    (
        "daemon/agents/codex_lane/carried.rs",
        "its own part of what is left",
    ),
    ("daemon/fault.rs", "how the loop ended"),
    (
        "daemon/base/operations.rs",
        "whether the daemon goes on, in one place",
    ),
    ("daemon/event.rs", "one variant for each occasion"),
    ("daemon/run.rs", "one line for each event"),
    ("daemon/running.rs", "what a daemon's host gets"),
    ("daemon/start/bound.rs", "the stages of every start"),
    ("daemon/start/claimed.rs", "the stages of every start"),
    ("daemon/start/ready.rs", "the stages of every start"),
    ("daemon/start/sequence.rs", "the stages of every start"),
    ("daemon/start/serving.rs", "the stages of every start"),
    ("cli/lifecycle/daemon.rs", "who wants it, and when"),
    ("host.rs", "what the command line may know of it"),
    ("cli/exit.rs", "what people are told of it"),
];

#[test]
fn a_takeover_stands_in_its_folder_and_nowhere_else() {
    let src = root().join("src");
    let mut wrong = Vec::new();
    let mut idle: BTreeSet<&str> = BESIDE_THE_TAKEOVER.iter().map(|(name, _)| *name).collect();
    for source in sources("src") {
        let path = source.path.strip_prefix(&src).unwrap();
        let name = path.display().to_string();
        if name.starts_with("daemon/takeover/") {
            continue;
        }
        let code: Vec<&str> = code_lines(&source).map(|(_, line)| line).collect();
        // A file's own tests stand at its end.
        let code = code.join("\n");
        let code = code.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let goes_on =
            |rest: &str| rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
        let names = |word: &str| {
            let mut behind = code
                .match_indices(word)
                .map(|(at, _)| &code[at + word.len()..]);
            behind.any(|rest| word != "Takeover" || !goes_on(rest))
        };
        let found = OF_A_TAKEOVER.iter().find(|word| names(word));
        if found.is_some() && !idle.remove(name.as_str()) {
            wrong.push(format!("{name}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "to daemon/takeover/: {wrong:#?}");
    assert!(idle.is_empty(), "no longer beside it: {idle:?}");
}

/// What waits for a disk, for git, or for the kernel's word on a process, and what takes the
/// processor for long texts.
const SLOW: [&str; 41] = [
    "find_programs(",
    "fs::",
    "remove_if_there(",
    "Blobs::",
    "config::load(",
    "config::save(",
    "trust::",
    "signer::",
    "sentinel::",
    "write_current(",
    "name_current(",
    "erase_knowing(",
    "texts_of_others(",
    "ledger::seal(",
    "discard_checkpoint(",
    "user_file::",
    "ProcessStat::of",
    "StartedProcess::of",
    "::lives",
    ".lives()",
    "is_held_by(",
    "environment(",
    "head::head(",
    "git_facts(",
    "FileHeads::",
    "tree_found",
    "ProjectRules::read",
    "fallback_names(",
    "CapsulesNow::",
    "FindingPlaces::",
    "transcript::read_end",
    "ledger.read(",
    ".stored_of(",
    ".seq_of(",
    " context(",
    "compaction_wants(",
    "entry_at(",
    "as_recorded(",
    "redact_text(",
    "ApprovalText::read(",
    "append_and_wait(",
];

/// The files of the daemon that may do such a thing, and why no event waits for it; those that the
/// loop does wait for stand in the head of `daemon::run`.
const SLOW_FILES: [(&str, &str); 54] = [
    (
        "base::agent_programs",
        "beside the loop, and once before there is one",
    ),
    ("start", "before there is a loop"),
    ("decisions::signing", "before there is a loop"),
    ("base::configuring", "before there is a loop"),
    ("agents::codex::unended", "before there is a loop"),
    ("decisions::decision_messages", "before there is a loop"),
    ("ending", "behind the last event"),
    ("tamper::inspect", "a thread of its own"),
    ("tamper::watcher", "a thread of its own"),
    ("operator", "a task of the listener"),
    ("peer", "beside the loop, for a connection"),
    ("handle", "beside the loop, for who asks"),
    ("agents::registering", "beside the loop"),
    ("agents::agent_processes", "of its tests"),
    ("base::reading_tree", "beside the loop"),
    (
        "base::tree_commit",
        "beside the loop, and once before there is one",
    ),
    ("agents::metering", "beside the loop"),
    (
        "agents::reloading",
        "beside the loop, which waits for the mask of a packet alone",
    ),
    ("agents::rules_reading", "beside the loop"),
    ("agents::working_set", "beside the loop"),
    ("base::rendering", "beside the loop"),
    ("agents::watching_rules", "beside the loop"),
    ("deliveries::bodies", "beside the loop"),
    ("deliveries::reading_bodies", "of what is in memory"),
    ("decisions::approval_texts", "beside the loop"),
    (
        "agents::codex::context_answer",
        "the loop waits: an answer in one write with a turn's end",
    ),
    (
        "sessions::carrying",
        "beside the loop, but for a line of the record that is neither read nor in memory",
    ),
    ("sessions::deletion", "beside the loop"),
    ("base::managed_blocks", "beside the loop"),
    ("commands::settings", "beside the loop"),
    ("commands::policy", "beside the loop"),
    ("commands::trust", "beside the loop"),
    ("commands::search", "a read beside the loop"),
    ("commands::capsules", "a read beside the loop"),
    ("commands::review", "a read beside the loop"),
    ("commands::context", "a read beside the loop"),
    ("commands::ledger", "a read beside the loop"),
    ("base::recorder", "the loop waits: a line of the record"),
    (
        "agents::codex::turns",
        "the loop waits: a line of the record",
    ),
    (
        "agents::nothing_came",
        "the loop waits: a line of the record",
    ),
    ("agents::claude::presence", "once, before the first event"),
    ("ended_waits", "the loop waits: a line of the record"),
    ("commands::answers", "the loop waits: a line of the record"),
    (
        "decisions::approving",
        "the loop waits: the mask of a request that was not read in time",
    ),
    (
        "agents::inferring",
        "the loop waits: the mask of a turn's latest words",
    ),
    (
        "agents::shown_turn",
        "the loop waits: the mask of a short text",
    ),
    (
        "agents::running_tools",
        "the loop waits: the mask of a short text",
    ),
    (
        "commands::gates",
        "the loop waits: the mask of a short text",
    ),
    ("commands::carrying", "the loop waits: a line of the record"),
    ("commands::checks", "the loop waits: a line of the record"),
    (
        "commands::pair_to_send_to",
        "the loop waits: a line of the record",
    ),
    ("commands::send", "the loop waits: a line of the record"),
    (
        "sessions::rollover",
        "the loop waits: one session ends and the next begins",
    ),
    ("tamper::alert", "the loop waits: `current` is put back"),
];

#[test]
fn nothing_of_the_daemon_is_slow_on_its_loop_but_what_is_named() {
    let mut wrong = Vec::new();
    let mut idle: BTreeSet<&str> = SLOW_FILES.iter().map(|(name, _)| *name).collect();
    for (file, code) in files_of_the_daemon() {
        let allowed = SLOW_FILES.iter().find(|(name, _)| {
            // What is before the loop, and who follows the record, are folders.
            let is_folder = ["start", "base::recorder"].contains(name);
            file == *name || is_folder && file.starts_with(&format!("{name}::"))
        });
        let found = SLOW.iter().find(|slow| code.contains(**slow));
        match (found, allowed) {
            (Some(_), Some((name, _))) => drop(idle.remove(name)),
            (Some(slow), None) => wrong.push(format!("{file}: {slow}")),
            (None, _) => {}
        }
    }
    assert!(
        wrong.is_empty(),
        "on the loop, or with a reason to be named:\n{}",
        wrong.join("\n")
    );
    assert!(idle.is_empty(), "no longer slow: {idle:?}");
}

/// Commands that are functions over the few owners that they name. It may grow; nothing may leave.
const COMMANDS_OVER_OWNERS: [&str; 20] = [
    "commands::answers",
    "commands::asked_gates",
    "commands::capsules",
    "commands::checks",
    "commands::compact_context",
    "commands::context",
    "commands::gate_evidence",
    "commands::ledger",
    "commands::pair_to_send_to",
    "commands::pending",
    "commands::policy",
    "commands::queue_step",
    "commands::record",
    "commands::review",
    "commands::search",
    "commands::status_line",
    "commands::task",
    "commands::trust",
    "commands::verdict",
    "commands::work_state",
];

#[test]
fn a_command_over_a_few_owners_does_not_get_all_of_them() {
    let files = files_of_the_daemon();
    for name in COMMANDS_OVER_OWNERS {
        let (_, code) = files.iter().find(|(file, _)| file == name).unwrap();
        assert!(!code.contains("Daemon"), "{name} takes the whole daemon");
    }
}
