//! [`rules_diff`]: the difference between the rules that an agent has and the current ones.

use std::collections::BTreeMap;

use super::file::FileName;
use crate::managed_block::diff;

/// The most of one file's difference, in lines.
const LINES_MAX: usize = 40;

/// Of one line, in characters.
const LINE_CHARS_MAX: usize = 200;

/// The texts of rules by their files, masked.
pub type RuleTexts = BTreeMap<FileName, String>;

/// A file whose rules differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesDiff {
    pub file: FileName,
    /// The lines that went, with `-`, and those that came, with `+`; its beginning.
    pub lines: String,
}

/// The files that differ, by their names.
pub fn rules_diff(before: &RuleTexts, now: &RuleTexts) -> Vec<RulesDiff> {
    let mut files: Vec<&FileName> = before.keys().chain(now.keys()).collect();
    files.sort();
    files.dedup();
    let none = String::new();
    let differing = files.into_iter().filter_map(|file| {
        let of = |texts: &'_ RuleTexts| texts.get(file).cloned().unwrap_or_else(|| none.clone());
        let (old, new) = (of(before), of(now));
        if old == new {
            return None;
        }
        let changed = diff(&old, &new);
        let mut lines: Vec<String> = changed
            .iter()
            .take(LINES_MAX)
            .map(|(is_added, line)| {
                let sign = if *is_added { '+' } else { '-' };
                let line: String = line.chars().take(LINE_CHARS_MAX).collect();
                format!("{sign} {line}")
            })
            .collect();
        if changed.len() > LINES_MAX {
            lines.push(format!("… {} lines more", changed.len() - LINES_MAX));
        }
        Some(RulesDiff {
            file: file.clone(),
            lines: lines.join("\n"),
        })
    });
    differing.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(files: &[(&str, &str)]) -> RuleTexts {
        let files = files.iter();
        files
            .map(|(file, text)| ((*file).to_owned(), (*text).to_owned()))
            .collect()
    }

    #[test]
    fn files_that_came_went_or_say_otherwise_differ() {
        let before = texts(&[("A.md", "one\ntwo\n"), ("B.md", "b\n"), ("C.md", "c\n")]);
        let now = texts(&[("A.md", "one\n2\n"), ("C.md", "c\n"), ("D.md", "d\n")]);
        let told: Vec<(String, String)> = rules_diff(&before, &now)
            .into_iter()
            .map(|differs| (differs.file, differs.lines))
            .collect();
        let told: Vec<(&str, &str)> = told.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(
            told,
            [("A.md", "- two\n+ 2"), ("B.md", "- b"), ("D.md", "+ d")]
        );
        assert!(rules_diff(&now, &now).is_empty());
    }

    #[test]
    fn a_long_difference_is_cut_and_counted() {
        let long = "rule\n".repeat(100) + &"x".repeat(1_000);
        let differs = rules_diff(&texts(&[]), &texts(&[("A.md", &long)]));
        let lines: Vec<&str> = differs[0].lines.lines().collect();
        assert_eq!(lines.len(), LINES_MAX + 1);
        assert_eq!(lines[LINES_MAX], "… 61 lines more");
    }
}
