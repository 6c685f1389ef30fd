//! [`kept_settings`]: what of a user's own configuration of git holds in a throw-away repository.
//!
//! A user's agents can write that configuration (`git config --global`), and a filter or a signature
//! program that it names would be run by our process, which nobody takes for an agent. So git does not
//! read it there ([`IGNORE_USERS`]); what says which files there are and what they hold is read once, and
//! written down. What a system's administrator says (`/etc/gitconfig`) holds.

use std::env;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::git_command::{bytes, plain_git};
use super::git_deadline::GitDeadline;

/// The variable, and its value, that has git read no configuration of the user's. A git older than 2.32
/// does not know it.
pub(super) const IGNORE_USERS: (&str, &str) = ("GIT_CONFIG_GLOBAL", "/dev/null");

/// The settings that hold, as git lists them. None of them names a program.
const KEPT: [&str; 4] = [
    "core.attributesfile",
    "core.autocrlf",
    "core.eol",
    "core.excludesfile",
];

/// The one filter that holds, in the words of `git lfs install` alone.
const KEPT_FILTER: [(&str, &str); 6] = [
    ("filter.lfs.clean", "git-lfs clean -- %f"),
    ("filter.lfs.process", "git-lfs filter-process"),
    ("filter.lfs.process", "git-lfs filter-process --skip"),
    ("filter.lfs.required", "true"),
    ("filter.lfs.smudge", "git-lfs smudge -- %f"),
    ("filter.lfs.smudge", "git-lfs smudge --skip -- %f"),
];

/// What stands in a configuration that says one of these, in small letters, or has another file say it.
const WORDS: [&str; 5] = ["attributesfile", "crlf", "eol", "excludesfile", "lfs"];
const ELSEWHERE: &str = "include";

/// How much of a file is looked at for that, in bytes.
const LOOKED_AT_MAX: u64 = 64 * 1024;

/// How long what was read is believed: a look at a tree asks for several repositories.
const BELIEVED_FOR: Duration = Duration::from_secs(5);

static LATEST: Mutex<Option<(Instant, String)>> = Mutex::new(None);

/// Lines for the configuration of a throw-away repository; empty where git says nothing by the
/// deadline. Blocks, for as long as `git` takes.
pub(super) fn kept_settings(deadline: GitDeadline) -> String {
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((read_at, settings)) = &*latest
        && read_at.elapsed() < BELIEVED_FOR
    {
        return settings.clone();
    }
    // Each process counts for a person who waits, and most have nothing to say. Who has no
    // configuration at all gets an error.
    let list = ["config", "--global", "--includes", "-z", "--list"];
    let listed = may_say_something().then(|| bytes(plain_git(deadline).args(list)));
    let listed = listed.flatten().unwrap_or_default();
    let settings = kept(&String::from_utf8_lossy(&listed));
    *latest = Some((Instant::now(), settings.clone()));
    settings
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

/// Of what git lists with `-z`: a name, a line break and a value each.
fn kept(listed: &str) -> String {
    let rows = listed.split('\0').filter_map(|row| row.split_once('\n'));
    let rows = rows.filter(|row| KEPT.contains(&row.0) || KEPT_FILTER.contains(row));
    rows.map(|(name, value)| line_of(name, value)).collect()
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
        assert_eq!(kept(&listed.map(|row| format!("{row}\0")).concat()), wanted);
    }
}
