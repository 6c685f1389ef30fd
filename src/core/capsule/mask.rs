//! [`CapsuleMask`]: masks all of a capsule a second time, before it leaves the machine.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde_json::Value;

use super::Capsule;
use super::mask_name::name_expressions;
use crate::hidden::letters;
use crate::redact::{Redactor, mark_names, marks_of};

/// How often the rules are applied to one text: a mark of one can uncover what another looks for.
const ROUNDS_MAX: usize = 6;

/// What stands before an absolute path: an option of one letter too, as in `-I/opt/x`, and in the
/// address of a program on this machine no server, but at most a word such as `file`.
const START: &str = r#"(?P<before>^|[^A-Za-z0-9._~/%-]|(?:^|[\s"'`=])-[A-Za-z]|file://[a-z]*|:///?|(?:[^ps]|insiders)://file)"#;

/// What a path goes on with.
const REST: &str = r#"(?:/[^\s"'`<>|;:,()\[\]{}]*)"#;

/// Absolute paths below folders that hold somebody's own files, paths from a home folder and those
/// of Windows. What every system has (`/usr`, `/etc`, `/dev`, …) tells nothing and stays; what else
/// this machine has is masked by [`MadeAt::top`].
static FOREIGN_PATH: LazyLock<Option<Regex>> = LazyLock::new(|| {
    const OWN: &str = "home|Users|root|tmp|var|private|opt|mnt|media|srv|Volumes";
    const WINDOWS: &str = r#"[A-Za-z]:\\[^\s"'`<>|;:,()\[\]{}]*"#;
    Regex::new(&format!("{START}(?:(?:~|/(?:{OWN})){REST}+|{WINDOWS})")).ok()
});

/// Where a capsule is made, which is nobody's business elsewhere.
#[derive(Debug, Clone, Copy, Default)]
pub struct MadeAt<'a> {
    /// The project's folder, absolute.
    pub project: &'a str,
    /// The home folder, absolute.
    pub home: Option<&'a str>,
    /// The name of the user.
    pub user: Option<&'a str>,
    /// The name of the host.
    pub host: Option<&'a str>,
    /// The folders at the top of the disk, by name.
    pub top: &'a [String],
    /// What the project's own files and folders are called.
    pub own: &'a [String],
}

/// What every system has at the top of its disk, which tells nothing.
const SYSTEM: [&str; 19] = [
    "bin",
    "boot",
    "cores",
    "dev",
    "etc",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "lost+found",
    "nix",
    "proc",
    "run",
    "sbin",
    "sys",
    "usr",
    "Applications",
    "Library",
    "System",
];

/// Masks secrets, paths outside of the project, and the names of user and host.
#[derive(Debug)]
pub struct CapsuleMask<'a> {
    redactor: &'a Redactor,
    made: Arc<MaskedPlaces>,
}

/// What is looked for in texts of where they were made. Made once: its expressions take longer to be
/// compiled than most texts to be masked.
#[derive(Debug)]
pub struct MaskedPlaces {
    project: String,
    /// Folders of which everything else is masked: the home folder, and the one that the project
    /// lies in.
    around: Vec<(String, Regex)>,
    /// Paths below folders at the top of this machine's disk that other machines do not have.
    top: Option<Regex>,
    names: Vec<(Regex, &'static str)>,
}

impl MaskedPlaces {
    /// Those of this machine and this project.
    pub fn of(at: MadeAt<'_>) -> Self {
        let is_folder = |path: &&str| path.len() > 1 && path.starts_with('/');
        let project = at.project.trim_end_matches('/');
        let parent = project.rsplit_once('/').map(|(parent, _)| parent);
        let home = at.home.map(|home| home.trim_end_matches('/'));
        let around = [home, parent].into_iter().flatten().filter(is_folder);
        let around = around.filter_map(|folder| {
            // `/root` stands in other paths too (`src/root/a.rs`), `/home/somebody` does not.
            let start = match folder[1..].contains('/') {
                true => "(?P<before>)",
                false => START,
            };
            let below = format!(r"{start}{}(?:{REST}+|\b)", regex::escape(folder));
            Some((folder.to_owned(), Regex::new(&below).ok()?))
        });
        let host = at.host.map(|host| host.split('.').next().unwrap_or(host));
        let is_own = |name: &&String| !name.is_empty() && !SYSTEM.contains(&name.as_str());
        let top = at.top.iter().filter(is_own);
        let top: Vec<String> = top.map(|name| regex::escape(name)).collect();
        let top = (!top.is_empty())
            .then(|| Regex::new(&format!("{START}/(?:{}){REST}+", top.join("|"))).ok());
        let names = [(at.host, "HOST"), (host, "HOST"), (at.user, "USER")];
        let names = names.into_iter().flat_map(|(name, mark)| {
            let name = name.unwrap_or_default();
            let words = name_expressions(name, mark == "USER", at.own).into_iter();
            words.filter_map(move |word| Some((Regex::new(&word).ok()?, mark)))
        });
        let project = if is_folder(&project) { project } else { "" };
        Self {
            project: project.to_owned(),
            around: around.collect(),
            top: top.flatten(),
            names: names.collect(),
        }
    }
}

impl<'a> CapsuleMask<'a> {
    /// The project's rules, for what is made here.
    pub fn new(redactor: &'a Redactor, at: MadeAt<'_>) -> Self {
        Self::of(redactor, Arc::new(MaskedPlaces::of(at)))
    }

    /// As [`Self::new`], where that is known.
    pub fn of(redactor: &'a Redactor, made: Arc<MaskedPlaces>) -> Self {
        Self { redactor, made }
    }

    /// Compiles what the first text would wait for.
    pub fn prepare(&self) {
        let _ = self.masked("~/a b");
    }

    /// Masks all of its texts and counts the marks in them, those of the record too. Doing it again
    /// changes nothing.
    pub fn mask(&self, capsule: &mut Capsule) {
        capsule.each_text(&mut |text| {
            if let Some(masked) = self.masked(text) {
                *text = masked;
            }
        });
        Self::recount(capsule);
    }

    /// Counts the marks that are in it now.
    pub fn recount(capsule: &mut Capsule) {
        let mut rules: BTreeMap<String, u64> = BTreeMap::new();
        capsule.each_text(&mut |text| {
            for name in mark_names(text) {
                *rules.entry(name.to_owned()).or_default() += 1;
            }
        });
        capsule.redaction.rules = rules;
    }

    /// Whether anything in a ledger line would be masked today.
    pub fn masks_line(&self, line: &Value) -> bool {
        self.redactor.redact_entry(&mut line.clone()) > 0 || self.places_in(line)
    }

    /// Whether anything in a file would be masked.
    pub fn masks(&self, text: &str) -> bool {
        self.redactor.redact_text(text).0 != text || self.places(text).is_some()
    }

    /// A file's name with everything masked, before anything in it is escaped: behind the letter of an
    /// escape no rule finds the beginning of a word.
    pub fn masked_name<'n>(&self, name: &'n str) -> Cow<'n, str> {
        match self.masked(name) {
            Some(masked) if masked != visible(name) => Cow::Owned(masked),
            _ => Cow::Borrowed(name),
        }
    }

    /// The text with everything masked; none when it can stay as it is.
    pub fn masked(&self, text: &str) -> Option<String> {
        let mut now = visible(text);
        for _ in 0..ROUNDS_MAX {
            let before = now.clone();
            now = self.redactor.redact_text(&now).0.into_owned();
            if let Some(masked) = self.places(&now) {
                now = masked;
            }
            // What a character joined may be masked.
            now = visible(&now);
            if now == before {
                return (now != text).then_some(now);
            }
        }
        Some("[REDACTED_TEXT]".to_owned())
    }

    fn places_in(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.places(text).is_some(),
            Value::Array(items) => items.iter().any(|item| self.places_in(item)),
            Value::Object(object) => {
                let mut members = object.iter();
                members.any(|(key, value)| self.places(key).is_some() || self.places_in(value))
            }
            _ => false,
        }
    }

    /// The text without where and by whom it was made; none when it tells nothing of that.
    fn places(&self, text: &str) -> Option<String> {
        let mut now = self.within(text);
        for (folder, below) in &self.made.around {
            if now.contains(folder.as_str()) {
                now = masked_paths(below, &now);
            }
        }
        for path in FOREIGN_PATH.iter().chain(&self.made.top) {
            // Twice: two paths can share the character between them.
            for _ in 0..2 {
                now = masked_paths(path, &now);
            }
        }
        for (name, mark) in &self.made.names {
            now = masked_names(name, mark, &now);
        }
        (now != text).then_some(now)
    }

    /// Paths below the project's folder, relative to it.
    fn within(&self, text: &str) -> String {
        let project = self.made.project.as_str();
        if project.is_empty() || !text.contains(project) {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(project) {
            let (before, found) = rest.split_at(at);
            let after = &found[project.len()..];
            out.push_str(before);
            let is_other = |letter: char| letter.is_alphanumeric() || "._-".contains(letter);
            let is_part = |letter: char| letter.is_alphanumeric() || "._~/%-".contains(letter);
            rest = match after.strip_prefix('/') {
                // The same letters in the middle of another path.
                _ if out.ends_with(is_part) => {
                    out.push_str(project);
                    after
                }
                Some(below) if below.starts_with(is_other) => below,
                _ if after.starts_with(is_other) => {
                    // A folder whose name begins with the same letters.
                    out.push_str(project);
                    after
                }
                _ => {
                    out.push('.');
                    after
                }
            };
        }
        out.push_str(rest);
        out
    }
}

/// Each path that is found is masked, and what stands before it stays.
fn masked_paths(path: &Regex, text: &str) -> String {
    let mut out = String::new();
    let mut done = 0;
    while let Some(found) = path.captures_at(text, done) {
        let (Some(all), Some(before)) = (found.get(0), found.name("before")) else {
            break;
        };
        let start = before.end();
        out.push_str(&text[done..start]);
        out.push_str("[REDACTED_PATH]");
        done = path_end(text, start, all.end());
    }
    out.push_str(&text[done..]);
    out
}

/// Each name that is found is masked, and what stands around it stays. What is a mark already has no
/// name in it.
fn masked_names(name: &Regex, mark: &str, text: &str) -> String {
    let marks = marks_of(text);
    let mut out = String::new();
    let (mut done, mut from) = (0, 0);
    while let Some(found) = name.captures_at(text, from) {
        let (Some(before), Some(after)) = (found.name("before"), found.name("after")) else {
            break;
        };
        let (start, end) = (before.end(), after.start());
        // Two names can share the character between them.
        from = end;
        if marks
            .iter()
            .any(|mark| mark.start < end && start < mark.end)
        {
            continue;
        }
        out.push_str(&text[done..start]);
        out.push_str(&format!("[REDACTED_{mark}]"));
        done = end;
    }
    out.push_str(&text[done..]);
    out
}

/// Where a path ends of which the part without blanks and other signs is `text[start..end]`. Names of
/// folders have blanks, and words behind a path have slashes (`and/or`): it goes over blanks only in
/// quotation marks, and else behind `\`.
fn path_end(text: &str, start: usize, end: usize) -> usize {
    let opening = text[..start].chars().next_back();
    if let Some(quote) = opening.filter(|letter| matches!(letter, '"' | '\'' | '`')) {
        let line = text[end..].split('\n').next().unwrap_or_default();
        if let Some(closing) = line.find(quote) {
            return end + quoted_end(&line[..closing]);
        }
    }
    let is_windows = text[start..end].get(1..2) == Some(":");
    let mut end = end;
    loop {
        let rest = &text[end..];
        let escaped = rest
            .strip_prefix(' ')
            .filter(|_| text[..end].ends_with('\\'));
        let word = escaped.map_or(0, part_len);
        end += match word {
            0 => signed_end(rest, if is_windows { '\\' } else { '/' }),
            word => 1 + word,
        };
        if end == text.len() - rest.len() {
            return end;
        }
    }
}

/// How much of `rest`, up to its first blank, is still of the path that ends before it: names have
/// brackets, commas and the like too, as long as another folder follows that is not the beginning of
/// another path, and no bracket closes that was opened before the path.
fn signed_end(rest: &str, slash: char) -> usize {
    let word = rest.split(|letter: char| letter.is_whitespace() || "\"'`<>|".contains(letter));
    let word = word.into_iter().next().unwrap_or_default();
    let (mut open, mut end) = (Vec::new(), 0);
    for (at, letter) in word.char_indices() {
        let is_list = || word[..at].trim_end_matches('~').ends_with([':', ';', ',']);
        match letter {
            '(' => open.push(')'),
            '[' => open.push(']'),
            '{' => open.push('}'),
            ')' | ']' | '}' if open.pop() != Some(letter) => break,
            ')' | ']' | '}' if end == at && at > 0 => end += 1,
            letter if letter == slash && is_list() => break,
            letter if letter == slash => end = at + 1 + part_len(&word[at + 1..]),
            _ => {}
        }
    }
    end
}

/// How long the part of a path is that `text` begins with.
fn part_len(text: &str) -> usize {
    text.find(is_no_part).unwrap_or(text.len())
}

/// How much of the rest of a quotation is still of the path that it begins with: in a command, that
/// goes up to an operator of the shell behind a blank, or a word that begins with `-`.
fn quoted_end(rest: &str) -> usize {
    let operators = [" ;", " |", " <", " >", " &&"].map(|it| rest.find(it));
    // A dash alone stands in names too.
    let is_letter = |letter: char| letter == '-' || letter.is_alphanumeric();
    let mut dashes = rest
        .match_indices(" -")
        .map(|(at, dash)| (at, at + dash.len()));
    let option = dashes.find(|(_, behind)| rest[*behind..].starts_with(is_letter));
    let option = option.map(|(at, _)| at);
    let end = operators.into_iter().chain([option]).flatten().min();
    // Names have such signs as well: what more of a path there may be is not told.
    let end = end.filter(|end| !rest[*end..].contains(['/', '\\']));
    end.map_or(rest.len(), |end| rest[..end].trim_end().len())
}

/// What no path goes on with that stands in no quotation marks.
fn is_no_part(letter: char) -> bool {
    letter.is_whitespace() || "\"'`<>|;:,()[]{}".contains(letter)
}

/// The text without characters that a reader does not see.
fn visible(text: &str) -> String {
    let seen = |(letter, is_hidden): (char, bool)| match letter {
        '\n' | '\t' => letter,
        letter if letter.is_control() || is_hidden => '\u{fffd}',
        letter => letter,
    };
    letters(text).map(seen).collect()
}
