//! [`included`]: the files that one of Claude's files includes with `@`.

use super::file::FileName;

/// The files that a text names with `@path`, as names below the project's folder, each once and in
/// their order. `by`: the file that holds the text; paths are relative to its folder.
///
/// What stands in code, and what leads out of the project (`~`, `/`, too many `..`), is passed
/// over. A word behind an `@` may be no path at all: whether the file exists is for the caller.
pub fn included(text: &str, by: &str) -> Vec<FileName> {
    let folder = by.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut found: Vec<FileName> = Vec::new();
    let mut in_fence = false;
    for line in text.lines() {
        let start = line.trim_start();
        if start.starts_with("```") || start.starts_with("~~~") {
            in_fence = !in_fence;
            continue;
        }
        if in_fence {
            continue;
        }
        // Outside of `code`: every other piece.
        for piece in line.split('`').step_by(2) {
            let words = piece.split_whitespace();
            for path in words.filter_map(|word| word.strip_prefix('@')) {
                let path = path.trim_end_matches(['.', ',', ';', ':', ')', '!', '?']);
                found.extend(below(folder, path).filter(|name| !found.contains(name)));
            }
        }
    }
    found
}

/// The name below the project's folder; none for what leads out of it.
fn below(folder: &str, path: &str) -> Option<FileName> {
    if path.is_empty() || path.starts_with(['/', '~']) || path.contains('\0') {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_file_names_others_beside_itself_and_above() {
        let text = "See @style.md, and @../README.md.\n- @deep/er.md\n@style.md again";
        assert_eq!(
            included(text, "docs/rules.md"),
            ["docs/style.md", "README.md", "docs/deep/er.md"]
        );
    }

    #[test]
    fn code_and_what_leads_out_of_the_project_are_passed_over() {
        let text = "`@a.md` @/etc/passwd @~/x.md @../../y.md\n```\n@b.md\n```\nme@c.md @d.md";
        assert_eq!(included(text, "docs/rules.md"), ["docs/d.md"]);
    }

    proptest! {
        #[test]
        fn no_name_leads_out_of_the_project(text in "[@a./~ `\n]{0,60}", by in "[a-b]/[c-d]\\.md") {
            for name in included(&text, &by) {
                prop_assert!(!name.starts_with('/'));
                prop_assert!(name.split('/').all(|part| !matches!(part, "" | "." | "..")));
            }
        }
    }
}
