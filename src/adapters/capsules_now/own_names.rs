//! [`own_names`]: the names of a project's own files, which do not name anybody's machine.

use std::fs;
use std::path::Path;

/// How many of the project's own names are looked at.
const OWN_MAX: usize = 2_000;

/// The longest list of what git ignores, in bytes.
const IGNORED_BYTES_MAX: u64 = 65_536;

/// Folders of what others wrote, or of what was built: names in them are nobody's choice here.
const NOT_OWN: [&str; 14] = [
    "node_modules",
    "bower_components",
    "jspm_packages",
    "vendor",
    "third_party",
    "Pods",
    "venv",
    "env",
    "site-packages",
    "__pycache__",
    "target",
    "dist",
    "build",
    "out",
];

/// What the files and folders at the top of the project and one below are called, but for hidden ones
/// and for what lies in folders of dependencies, or in those that the project has git ignore.
pub(super) fn own_names(root: &Path) -> Vec<String> {
    let named = |folder: &Path| {
        let found = fs::read_dir(folder).into_iter().flatten().flatten();
        let found = found.filter_map(|it| {
            let is_folder = it.file_type().is_ok_and(|kind| kind.is_dir());
            Some((it.file_name().into_string().ok()?, is_folder))
        });
        let found = found.filter(|(name, _)| !name.starts_with('.'));
        found.take(OWN_MAX).collect::<Vec<_>>()
    };
    let top = named(root);
    let ignored = ignored(root);
    let is_own =
        |name: &str| !NOT_OWN.contains(&name) && !ignored.lines().any(|line| names(line, name));
    let folders = top.iter().filter(|(_, is_folder)| *is_folder);
    let folders = folders.filter(|(name, _)| is_own(name));
    let below = folders.flat_map(|(name, _)| named(&root.join(name)));
    let all = top.iter().cloned().chain(below);
    all.take(OWN_MAX).map(|(name, _)| name).collect()
}

/// What the project has git ignore.
fn ignored(root: &Path) -> String {
    let path = root.join(".gitignore");
    let is_short =
        fs::symlink_metadata(&path).is_ok_and(|it| it.is_file() && it.len() <= IGNORED_BYTES_MAX);
    let text = is_short.then(|| fs::read_to_string(&path).ok()).flatten();
    text.unwrap_or_default()
}

/// Whether a line there names just this folder: `name`, `/name`, `name/`, `name/*`.
fn names(line: &str, name: &str) -> bool {
    let line = line.trim_end();
    let line = line.strip_prefix("**").unwrap_or(line);
    let line = line.strip_prefix('/').unwrap_or(line);
    line.strip_prefix(name)
        .is_some_and(|rest| ["", "/", "/*", "/**"].contains(&rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_dependencies_and_ignored_folders_hold_is_no_name_of_the_projects_own() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "node_modules/jake",
            "vendor/rita",
            "logs/ann",
            "cache/bob",
            "src/billing",
            "app/[slug]",
        ] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        fs::write(
            folder.path().join(".gitignore"),
            "# x\n/logs/\ncache\nsrcs\n",
        )
        .unwrap();
        let mut own = own_names(folder.path());
        own.sort();
        let expected = [
            "[slug]",
            "app",
            "billing",
            "cache",
            "logs",
            "node_modules",
            "src",
            "vendor",
        ];
        assert_eq!(own, expected);
    }
}
