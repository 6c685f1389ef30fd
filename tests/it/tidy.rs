//! The rules of the house that a compiler does not hold: who imports whom, who may touch the
//! clock, the disk and the terminal.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

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

#[test]
fn only_the_deck_touches_the_terminal() {
    let mut wrong = Vec::new();
    for source in sources("src") {
        let path = source.path.display().to_string();
        if path.contains("/deck/") {
            continue;
        }
        for (at, line) in code_lines(&source) {
            if line.contains("enable_raw_mode") || line.contains("EnterAlternateScreen") {
                wrong.push(format!("{path}:{at}: {}", line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "terminal by hand:\n{}", wrong.join("\n"));
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
