//! The README says what there is: its keys are the keymap's, its commands are the program's, and
//! what it points to exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ctxrelay::cli::args::command;
use ctxrelay_ui::Keymap;
use pretty_assertions::assert_eq;

const KEYS_BEGIN: &str = "<!-- keys: ";
const KEYS_END: &str = "<!-- /keys -->";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

/// Where the generated table begins and ends, its markers left out.
fn keys_place(text: &str) -> std::ops::Range<usize> {
    let marker = text.find(KEYS_BEGIN).expect("the first marker");
    let begin = marker + text[marker..].find('\n').unwrap() + 1;
    let end = text.find(KEYS_END).expect("the last marker");
    begin..end
}

/// The words after each `ctxrelay ` that stands in code, and not in prose.
fn commands_named(text: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let pieces: Vec<&str> = if fenced {
            vec![line]
        } else {
            line.split('`').skip(1).step_by(2).collect()
        };
        for piece in pieces {
            let verb = piece
                .strip_prefix("ctxrelay ")
                .and_then(|rest| rest.split_whitespace().next())
                .filter(|word| word.starts_with(|first: char| first.is_ascii_lowercase()));
            named.extend(verb.map(str::to_owned));
        }
    }
    named
}

#[test]
fn the_keys_are_those_of_the_keymap() {
    let text = readme();
    let place = keys_place(&text);
    let table = format!("\n{}", Keymap::builtin().unwrap().markdown());
    if std::env::var("CTXRELAY_README").is_ok_and(|wish| wish == "write") {
        let mut new = text.clone();
        new.replace_range(place, &table);
        fs::write(root().join("README.md"), new).unwrap();
        return;
    }
    assert_eq!(
        &text[place], table,
        "CTXRELAY_README=write cargo test --test it readme"
    );
}

#[test]
fn every_command_is_named_and_none_is_invented() {
    let named = commands_named(&readme());
    let command = command();
    let shown: BTreeSet<String> = command
        .get_subcommands()
        .filter(|verb| !verb.is_hide_set())
        .map(|verb| verb.get_name().to_owned())
        .collect();
    assert!(shown.len() > 10, "{shown:?}");
    assert_eq!(named, shown);
}

#[test]
fn what_it_points_to_exists() {
    let text = readme();
    let mut links = 0;
    for (at, _) in text.match_indices("](") {
        let rest = &text[at + 2..];
        let link = &rest[..rest.find(')').unwrap()];
        assert!(
            root().join(link).is_file(),
            "the README points to {link}, which is not there"
        );
        links += 1;
    }
    assert!(links > 3, "the picture, the themes and the licences");
}

#[test]
fn every_variable_is_read_by_something() {
    let mut sources = String::new();
    for folder in ["src", "tests", "ui"] {
        gather(&root().join(folder), &mut sources);
    }
    let text = readme();
    let variables: BTreeSet<&str> = text
        .split(|letter: char| !(letter.is_ascii_uppercase() || letter == '_'))
        .filter(|word| {
            ["CONTEXTRELAY_", "CTXRELAY_", "CODEX_"]
                .iter()
                .any(|prefix| word.starts_with(prefix))
        })
        .collect();
    assert!(variables.len() > 10, "{variables:?}");
    for variable in variables {
        assert!(
            sources.contains(&format!("\"{variable}\"")),
            "nothing reads {variable}"
        );
    }
}

fn gather(folder: &Path, into: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            gather(&path, into);
        } else if path.extension().is_some_and(|end| end == "rs") {
            into.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}
