use std::fs;
use std::path::Path;
use std::process::Command;

use pretty_assertions::assert_eq;
use tempfile::TempDir;

use super::*;
use crate::core::entry::SeverityBy;

fn git(root: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.invalid"])
        .args(args)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn facts(path: &str, line: u32, commit: &str) -> FindingFacts {
    FindingFacts {
        review: "github.com/acme/api#1".to_owned(),
        title: "a title".to_owned(),
        severity: None,
        lowered_from: None,
        severity_by: SeverityBy::None,
        author: "bot".to_owned(),
        bot: true,
        path: Some(path.to_owned()),
        folder: None,
        start_line: None,
        line: Some(line),
        commit: Some(commit.to_owned()),
        url: None,
        resolved: false,
        outdated: false,
        digest: String::new(),
    }
}

/// A repository with a file of twenty lines; its commit.
fn repository() -> (TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q"]);
    fs::create_dir(dir.path().join("src")).unwrap();
    fs::write(dir.path().join("src/a.rs"), numbered(1..=20)).unwrap();
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-qm", "a"]);
    let commit = git(dir.path(), &["rev-parse", "HEAD"]);
    (dir, commit)
}

fn shown(root: &Path, facts: &FindingFacts) -> FindingPlace {
    FindingPlaces::open(root, GitDeadline::NONE).shown(facts, &Redactor::new())
}

fn numbered(lines: impl Iterator<Item = u32>) -> String {
    lines.map(|line| format!("line {line}\n")).collect()
}

#[test]
fn a_line_is_followed_through_what_was_written_since() {
    let (dir, commit) = repository();
    let place = |line| shown(dir.path(), &facts("src/a.rs", line, &commit));
    let here = place(12);
    assert_eq!(
        (here.fate, here.line_now, here.first),
        (LineFate::Same, Some(12), 4)
    );
    assert_eq!(here.lines.len(), 17);
    assert_eq!(here.lines[8], "line 12");

    let text = format!(
        "new\nnew\n{}",
        numbered((1..=20).filter(|line| *line != 15))
    );
    fs::write(dir.path().join("src/a.rs"), text).unwrap();
    let moved = place(12);
    assert_eq!((moved.fate, moved.line_now), (LineFate::Moved, Some(14)));
    let changed = place(15);
    assert_eq!((changed.fate, changed.line_now), (LineFate::Changed, None));
    assert!(changed.lines.contains(&"line 14".to_owned()));
    // Behind the end of the file nothing stood.
    assert_eq!(place(400).fate, LineFate::Changed);

    fs::remove_file(dir.path().join("src/a.rs")).unwrap();
    assert_eq!(place(12), FindingPlace::unseen(LineFate::Gone));
}

#[test]
fn several_lines_are_followed_as_one_and_changed_where_one_of_them_was() {
    let (dir, commit) = repository();
    let place = |start, line| {
        let facts = FindingFacts {
            start_line: Some(start),
            ..facts("src/a.rs", line, &commit)
        };
        let place = shown(dir.path(), &facts);
        assert_eq!(place.is_at(line + 1), place.fate == LineFate::Moved);
        (place.fate, place.start_now, place.line_now)
    };
    assert_eq!(place(2, 5), (LineFate::Same, Some(2), Some(5)));
    // One comes before all, and one within is another one.
    let text = numbered(1..=20).replace("line 9\n", "nine\n");
    fs::write(dir.path().join("src/a.rs"), format!("new\n{text}")).unwrap();
    assert_eq!(place(2, 5), (LineFate::Moved, Some(3), Some(6)));
    assert_eq!(place(8, 12), (LineFate::Changed, None, None));
    assert_eq!(place(10, 12), (LineFate::Moved, Some(11), Some(13)));
}

#[test]
fn a_commit_that_is_not_here_and_a_file_that_is_none_of_the_project_tell_nothing() {
    let (dir, commit) = repository();
    let places = FindingPlaces::open(dir.path(), GitDeadline::NONE);
    let unknown = shown(dir.path(), &facts("src/a.rs", 3, &"0".repeat(40)));
    assert_eq!((unknown.fate, unknown.line_now), (LineFate::Unknown, None));
    assert_eq!(unknown.lines[0], "line 1");

    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "a secret\n").unwrap();
    std::os::unix::fs::symlink(outside.path(), dir.path().join("out")).unwrap();
    for path in ["out/secret", "../secret", "/etc/passwd", "src"] {
        let place = places.shown(&facts(path, 1, &commit), &Redactor::new());
        assert_eq!(place, FindingPlace::unseen(LineFate::Unknown), "{path}");
    }
    let plain = tempfile::tempdir().unwrap();
    fs::write(plain.path().join("a"), "one\n").unwrap();
    let place = shown(plain.path(), &facts("a", 1, &commit));
    assert_eq!(
        (place.fate, place.lines),
        (LineFate::Unknown, vec!["one".to_owned()])
    );
}

#[test]
fn a_file_that_was_too_long_then_is_not_read() {
    let (dir, _) = repository();
    let path = dir.path().join("src/a.rs");
    fs::write(&path, "a line\n".repeat(500_000)).unwrap();
    git(dir.path(), &["commit", "-qam", "long"]);
    let long = git(dir.path(), &["rev-parse", "HEAD"]);
    fs::write(&path, numbered(1..=20)).unwrap();
    let place = shown(dir.path(), &facts("src/a.rs", 12, &long));
    assert_eq!(place.fate, LineFate::Unknown);
    assert_eq!(place.lines[8], "line 12");
}

#[test]
fn a_file_with_many_findings_is_compared_once() {
    let (dir, commit) = repository();
    let text = format!("new\n{}", numbered(1..=20));
    fs::write(dir.path().join("src/a.rs"), text).unwrap();
    let places = FindingPlaces::open(dir.path(), GitDeadline::NONE);
    let line = |line| places.of(&facts("src/a.rs", line, &commit)).line_now;
    assert_eq!(line(3), Some(4));
    // Were they made anew, what stands here would not count.
    let steps = vec![DiffOp::Equal {
        old_index: 0,
        new_index: 5,
        len: 20,
    }];
    let kept = |steps| {
        places
            .steps
            .borrow_mut()
            .values_mut()
            .for_each(|it| *it = Rc::clone(&steps))
    };
    kept(Rc::new(steps));
    assert_eq!((line(3), line(7)), (Some(8), Some(12)));
    assert_eq!(places.steps.borrow().len(), 1);
}

#[test]
fn a_secret_of_several_lines_is_masked_wherever_in_it_a_finding_stands() {
    let (dir, commit) = repository();
    let bounds = |word: &str| format!("-----{word} PRIVATE {}-----", "KEY");
    let inner: Vec<String> = (0..30)
        .map(|at| format!("{at:02}{}", "aB3d".repeat(15)))
        .collect();
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let text = format!(
        "one\na {token}\n{}\n{}\n{}\nother {token}\nlast\n",
        bounds("BEGIN"),
        inner.join("\n"),
        bounds("END"),
    );
    fs::write(dir.path().join("key.pem"), text).unwrap();
    // The first lines, the midst of the key, and its end: 36 lines in all.
    for line in [1, 3, 18, 33, 36] {
        let place = shown(dir.path(), &facts("key.pem", line, &commit));
        let told = place.lines.join("\n");
        assert!(
            !told.contains("aB3d") && !told.contains("a1B2"),
            "{line}: {told}"
        );
        let at = |number: u32| place.lines.get(number.checked_sub(place.first)? as usize);
        for (number, means) in [
            (1, "one"),
            (2, "a [REDACTED_GITHUB_TOKEN]"),
            (3, "[REDACTED_PRIVATE_KEY]"),
            (18, "[REDACTED_PRIVATE_KEY]"),
            (34, "[REDACTED_PRIVATE_KEY]"),
            (35, "other [REDACTED_GITHUB_TOKEN]"),
            (36, "last"),
        ] {
            assert!(
                at(number).is_none_or(|shown| shown == means),
                "{number}: {told}"
            );
        }
        let near = at(line).is_some();
        assert!(near, "{line}: {told}");
    }
}
