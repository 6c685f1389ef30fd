//! [`kept_settings`]: the part of a user's own git configuration that applies in a throw-away
//! repository.
//!
//! A user's agents can write that configuration (`git config --global`), and a filter or signature
//! program that it names would run below our process, which nobody takes for an agent. So git does
//! not read it there ([`IGNORE_USERS`]); the settings that decide which files there are and what
//! they contain are read once and written down. A system administrator's settings
//! (`/etc/gitconfig`) apply.

use std::collections::BTreeMap;
use std::env;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::command::{bytes, plain_git};
use super::deadline::GitDeadline;

/// The variable, and its value, that has git read no configuration of the user's. A git older than 2.32
/// does not know it.
pub(in crate::adapters) const IGNORE_USERS: (&str, &str) = ("GIT_CONFIG_GLOBAL", "/dev/null");

/// The settings that hold, as git lists them. None of them names a program.
const KEPT: [&str; 4] = [
    "core.attributesfile",
    "core.autocrlf",
    "core.eol",
    "core.excludesfile",
];

/// The one filter that holds, in the words of `git lfs install` alone, those of older versions too.
/// `git-lfs` or `git lfs` stands before each.
const KEPT_FILTER: [(&str, &str); 8] = [
    ("filter.lfs.clean", "clean -- %f"),
    ("filter.lfs.clean", "clean %f"),
    ("filter.lfs.process", "filter-process"),
    ("filter.lfs.process", "filter-process --skip"),
    ("filter.lfs.smudge", "smudge -- %f"),
    ("filter.lfs.smudge", "smudge %f"),
    ("filter.lfs.smudge", "smudge --skip -- %f"),
    ("filter.lfs.smudge", "smudge --skip %f"),
];
const FILTER_PROGRAMS: [&str; 2] = ["git-lfs ", "git lfs "];

/// Has git fail without the filter: it holds only where what hashes a file does, one of these.
const FILTER_REQUIRED: (&str, &str) = ("filter.lfs.required", "true");
const HASHES: [&str; 2] = ["filter.lfs.clean", "filter.lfs.process"];

/// The rows of a user's own configuration, as git names where they stand.
const USERS: &str = "global";

/// What stands in a configuration that says one of these, in small letters, or has another file say it.
const WORDS: [&str; 5] = ["attributesfile", "crlf", "eol", "excludesfile", "lfs"];
const ELSEWHERE: &str = "include";

/// How much of a file is looked at for that, in bytes.
const LOOKED_AT_MAX: u64 = 64 * 1024;

/// How long what was read is believed: a look at a tree asks for several repositories.
const BELIEVED_FOR: Duration = Duration::from_secs(5);

static LATEST: Mutex<BTreeMap<PathBuf, (Instant, String)>> = Mutex::new(BTreeMap::new());

/// Lines for the configuration of a throw-away repository that looks at the work tree of `root`: a
/// user may say other things for other repositories. `None` where git does not tell by the deadline.
/// Blocks, for as long as `git` takes.
pub(in crate::adapters) fn kept_settings(root: &Path, deadline: GitDeadline) -> Option<String> {
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    latest.retain(|_, (read_at, _)| read_at.elapsed() < BELIEVED_FOR);
    if let Some((_, settings)) = latest.get(root) {
        return Some(settings.clone());
    }
    // Each process counts for a person who waits, and most have nothing to say.
    let settings = match may_say_something() {
        true => {
            let mut git = plain_git(deadline);
            let list = ["config", "--show-scope", "--includes", "-z", "--list"];
            let listed = bytes(git.arg("-C").arg(root).args(list))?;
            kept(&String::from_utf8_lossy(&listed))
        }
        false => String::new(),
    };
    latest.insert(root.to_owned(), (Instant::now(), settings.clone()));
    Some(settings)
}

/// Whether the user's own configuration may have a setting that holds.
fn may_say_something() -> bool {
    let home = || env::var_os("HOME").map(PathBuf::from);
    let files = match env::var_os("GIT_CONFIG_GLOBAL") {
        Some(file) => vec![Some(PathBuf::from(file))],
        None => {
            let config = env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty());
            let config = config.map(PathBuf::from);
            let config = config.or_else(|| Some(home()?.join(".config")));
            vec![
                config.map(|folder| folder.join("git/config")),
                home().map(|home| home.join(".gitconfig")),
            ]
        }
    };
    let mut files = files.into_iter().flatten();
    files.any(|file| match File::open(file) {
        Ok(file) => {
            let mut text = Vec::new();
            let read = file.take(LOOKED_AT_MAX).read_to_end(&mut text);
            let text = String::from_utf8_lossy(&text).to_ascii_lowercase();
            let mut words = WORDS.iter().chain([&ELSEWHERE]);
            read.map_or(true, |bytes| bytes as u64 == LOOKED_AT_MAX)
                || words.any(|word| text.contains(word))
        }
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    })
}

/// Of what git lists with `-z`: where a row stands; then its name, a line break and its value.
fn kept(listed: &str) -> String {
    let (mut tokens, mut rows) = (listed.split('\0'), Vec::new());
    while let (Some(scope), Some(row)) = (tokens.next(), tokens.next()) {
        rows.extend(row.split_once('\n').filter(|_| scope == USERS));
    }
    let is_hashed = |row: &(&str, &str)| HASHES.contains(&row.0) && is_of_lfs(row);
    let is_required = rows.iter().any(is_hashed);
    rows.retain(|row| {
        let is_kept = KEPT.contains(&row.0) || is_of_lfs(row);
        is_kept || (*row == FILTER_REQUIRED && is_required)
    });
    let lines = rows.into_iter().map(|(name, value)| line_of(name, value));
    lines.collect()
}

/// Whether these settings have a filter hash the files that name it.
pub(in crate::adapters) fn keeps_filter(settings: &str, name: &str) -> bool {
    let section = format!("[filter \"{name}\"]\n\t");
    let mut keys = settings.split(&section).skip(1);
    keys.any(|rest| rest.starts_with("clean ") || rest.starts_with("process "))
}

fn is_of_lfs((name, value): &(&str, &str)) -> bool {
    let mut programs = FILTER_PROGRAMS.iter();
    let words = programs.find_map(|program| value.strip_prefix(program));
    words.is_some_and(|words| KEPT_FILTER.contains(&(name, words)))
}

/// `[section "sub"] key = "value"`, as a file of git's says it.
fn line_of(name: &str, value: &str) -> String {
    let (section, key) = name.rsplit_once('.').unwrap_or((name, ""));
    let section = match section.split_once('.') {
        Some((section, sub)) => format!("{section} \"{sub}\""),
        None => section.to_owned(),
    };
    let value = value
        .replace('\\', r"\\")
        .replace('"', "\\\"")
        .replace('\n', r"\n");
    format!("[{section}]\n\t{key} = \"{value}\"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_a_program_does_not_hold_unless_it_is_what_git_lfs_writes() {
        let listed = [
            "core.autocrlf\ninput",
            "core.excludesfile\n~/a \"b\"\\c",
            "core.fsmonitor\n/evil",
            "core.sshcommand\n/evil",
            "filter.x.clean\n/evil",
            "filter.lfs.clean\n/evil",
            "filter.lfs.clean\ngit-lfs clean -- %f",
            "filter.lfs.required\ntrue",
            "gpg.program\n/evil",
            "include.path\n/evil",
            "core.eol",
        ];
        let wanted = "[core]\n\tautocrlf = \"input\"\n\
             [core]\n\texcludesfile = \"~/a \\\"b\\\"\\\\c\"\n\
             [filter \"lfs\"]\n\tclean = \"git-lfs clean -- %f\"\n\
             [filter \"lfs\"]\n\trequired = \"true\"\n";
        assert_eq!(kept(&of_user(&listed)), wanted);
        // What the project itself says does not hold.
        let local = of_user(&listed).replace("global\0", "local\0");
        assert_eq!(kept(&local), "");
    }

    fn of_user(rows: &[&str]) -> String {
        rows.iter().map(|row| format!("global\0{row}\0")).collect()
    }

    #[test]
    fn git_lfs_holds_in_its_older_words_and_is_required_only_where_it_hashes_files() {
        let required = "filter.lfs.required\ntrue";
        for row in [
            "filter.lfs.clean\ngit-lfs clean %f",
            "filter.lfs.clean\ngit lfs clean %f",
            "filter.lfs.clean\ngit lfs clean -- %f",
            "filter.lfs.process\ngit lfs filter-process",
        ] {
            let kept = kept(&of_user(&[required, row]));
            let value = row.split_once('\n').unwrap_or_default().1;
            assert!(kept.contains(value), "{row:?}: {kept}");
            assert!(kept.contains("required"), "{row:?}: {kept}");
        }
        let smudge = "filter.lfs.smudge\ngit lfs smudge %f";
        for row in [
            "filter.lfs.clean\ngit-lfs clean %f; evil",
            "filter.lfs.clean\ngit-lfs smudge %f",
            "filter.lfs.process\n/usr/bin/git-lfs filter-process",
        ] {
            let kept = kept(&of_user(&[required, row, smudge]));
            assert_eq!(kept, "[filter \"lfs\"]\n\tsmudge = \"git lfs smudge %f\"\n");
        }
    }
}
