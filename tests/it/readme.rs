//! The README and the guide say what there is: their keys are the keymap's, their commands are the
//! program's, and what they point to exists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

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

/// The pages of the guide, by what they are called.
fn guide() -> BTreeMap<String, (PathBuf, String)> {
    let files = fs::read_dir(root().join("src/guide")).unwrap();
    let pages = files.map(|file| {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&path).unwrap();
        (name, (path, text))
    });
    pages.collect()
}

/// All that is written for users: each file with its text.
fn documents() -> Vec<(PathBuf, String)> {
    let readme = (root().join("README.md"), readme());
    let pages = guide().into_values();
    std::iter::once(readme).chain(pages).collect()
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
    let path = root().join("src/guide/keys.md");
    let text = fs::read_to_string(&path).unwrap();
    let place = keys_place(&text);
    let table = format!("\n{}", Keymap::builtin().unwrap().markdown());
    if std::env::var("CTXRELAY_README").is_ok_and(|wish| wish == "write") {
        let mut new = text.clone();
        new.replace_range(place, &table);
        fs::write(path, new).unwrap();
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
    for (path, text) in documents() {
        let invented: Vec<_> = commands_named(&text).difference(&shown).cloned().collect();
        assert_eq!(invented, [""; 0], "{}", path.display());
    }
}

#[test]
fn the_program_has_each_page_of_the_guide_and_the_readme_points_to_it() {
    let (readme, mut command) = (readme(), command());
    command.build();
    let verb = command.find_subcommand("guide").unwrap();
    let page = verb.get_arguments().find(|it| it.get_id() == "page");
    let offered: BTreeSet<String> = page
        .unwrap()
        .get_possible_values()
        .iter()
        .map(|value| value.get_name().to_owned())
        .collect();
    let there: BTreeSet<String> = guide().into_keys().collect();
    assert_eq!(offered, there);
    for page in there {
        assert!(
            readme.contains(&format!("](src/guide/{page}.md)")),
            "{page}"
        );
    }
}

#[test]
fn what_they_point_to_exists() {
    let mut links = 0;
    for (document, text) in documents() {
        for (at, _) in text.match_indices("](") {
            let rest = &text[at + 2..];
            let link = &rest[..rest.find(')').unwrap()];
            let (file, heading) = match link.split_once('#') {
                Some((file, heading)) => (file, Some(heading)),
                None => (link, None),
            };
            let target = match file {
                "" => document.clone(),
                file => document.parent().unwrap().join(file),
            };
            let place = format!("{} points to {link}", document.display());
            assert!(target.is_file(), "{place}, which is not there");
            if let Some(heading) = heading {
                let target = fs::read_to_string(target).unwrap();
                let is_there = target
                    .lines()
                    .any(|line| anchor(line).as_deref() == Some(heading));
                assert!(is_there, "{place}, and no heading there is that one");
            }
            links += 1;
        }
    }
    assert!(
        links > 30,
        "the pictures, the pages, the themes and the licences: {links}"
    );
}

/// What a heading is called in a link, as GitHub makes it.
fn anchor(line: &str) -> Option<String> {
    let heading = line.strip_prefix('#')?.trim_start_matches('#').trim();
    let kept = heading
        .chars()
        .filter(|it| it.is_alphanumeric() || " -_".contains(*it));
    Some(kept.collect::<String>().to_lowercase().replace(' ', "-"))
}

#[test]
fn every_variable_is_read_by_something() {
    let mut sources = String::new();
    for folder in ["src", "tests", "ui"] {
        gather(&root().join(folder), &mut sources);
    }
    let texts: String = documents().into_iter().map(|(_, text)| text).collect();
    let variables: BTreeSet<&str> = texts
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
