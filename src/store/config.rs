//! [`load`]: a project's effective `config.json`: read, checked key by key, without any key that
//! has power and was not trusted.
//!
//! Loading never fails. Anything wrong is a [`Problem`], and the default applies instead; but if a
//! file cannot be read at all, the earlier redaction rules stay in force.

mod kept_rules;

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ctxrelay_core::plain_value::PlainValue;
use serde_json::{Map, Value};

use super::dirs::{ProjectDirs, UserDirs, free_name, read_private, write_private};
use super::trust;
use ctxrelay_core::redact::OwnRules;
use ctxrelay_core::wire::config::{
    Config, Migrated, Problem, Waiting, digest, is_contextrelay_3, migrate, only_trusted,
    own_rules, power, read, unknown_keys, waiting,
};
use kept_rules::rules_of_before;

pub use kept_rules::keep_rules;

/// The largest `config.json`, in bytes. A hundred times what one that uses every key needs.
pub const CONFIG_BYTES_MAX: u64 = 256 * 1024;

/// What the file of ContextRelay 3 is kept as.
const BACKUP_NAME: &str = "config.json.3.13";

/// A configuration as it counts.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The file, unknown keys included; `None` when it is there and cannot be taken at all.
    pub file: Option<Map<String, Value>>,
    /// What counts.
    pub config: Config,
    /// Its redaction rules and allow-list.
    pub rules: OwnRules,
    /// The file cannot be taken, and these rules are those of the last one that could.
    pub are_rules_of_before: bool,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// What waits for the operator's trust.
    pub waiting: Vec<Waiting>,
    /// That what is trusted could not be read, in a sentence. Nothing with power counts here then, and
    /// what counted before is not known.
    pub trust_lost: Option<String>,
    /// The SHA-256 of the keys with power, by which the operator says what is trusted.
    pub digest: String,
}

impl Loaded {
    /// The keys with power, dotted.
    pub fn power(&self) -> Map<String, Value> {
        self.file.as_ref().map(power).unwrap_or_default()
    }

    /// What of the file does not count as it stands there: what is wrong, and keys that mean nothing.
    pub fn ineffective(&self) -> Vec<Problem> {
        let unknown = self.file.iter().flat_map(unknown_keys);
        let unknown = unknown.map(|key| Problem::unknown(&key));
        self.problems.iter().cloned().chain(unknown).collect()
    }

    /// Sentences for the operator; empty when all is well.
    pub fn notices(&self) -> Vec<String> {
        let notices = self.problem_notice().into_iter();
        notices.chain(self.trust_notice()).collect()
    }

    /// That something is wrong in it.
    pub fn problem_notice(&self) -> Option<String> {
        let first = self.problems.first()?;
        let more = match self.problems.len() {
            1 => String::new(),
            n => format!(" (and {} more: `ctxrelay config show`)", n - 1),
        };
        let rules = match self.are_rules_of_before {
            true => "; its redaction rules of before count on",
            false => "",
        };
        Some(format!("config.json: {first}{more}{rules}"))
    }

    /// Why less may be masked than the operator wants: the file cannot be taken, or one of its
    /// redaction rules cannot. What is wrong with the allow-list masks more.
    pub fn masking_doubt(&self) -> Option<String> {
        let is_of_rules =
            |key: &str| key.is_empty() || key == "redaction" || key.starts_with("redaction.rules");
        let mut problems = self.problems.iter();
        let found = problems.find(|problem| is_of_rules(&problem.key))?;
        Some(format!("config.json: {found}"))
    }

    /// The keys that are ignored until somebody trusts them.
    pub fn ignored_keys(&self) -> Vec<&str> {
        self.waiting
            .iter()
            .filter(|waiting| waiting.matters_now())
            .map(|waiting| waiting.key.as_str())
            .collect()
    }

    /// That something in it waits for trust.
    pub fn trust_notice(&self) -> Option<String> {
        if let Some(lost) = &self.trust_lost {
            return Some(lost.clone());
        }
        let waits = self.ignored_keys();
        (!waits.is_empty()).then(|| {
            format!(
                "config.json: {} waits for your trust and is ignored until then: `ctxrelay trust`",
                waits.join(", ")
            )
        })
    }
}

/// A file of ContextRelay 3 that was taken over.
#[derive(Debug)]
pub struct Adopted {
    /// What became of its keys.
    pub migrated: Migrated,
    /// The file as it was.
    pub backup: PathBuf,
}

/// Reads a project's configuration.
pub fn load(dirs: &ProjectDirs, user: &UserDirs) -> Loaded {
    let (file, mut problems) = match read_file(dirs) {
        Ok(file) => (Some(file), Vec::new()),
        Err(why) => {
            let key = String::new();
            (None, vec![Problem { key, why }])
        }
    };
    let empty = Map::new();
    let (mut config, wrong) = read(file.as_ref().unwrap_or(&empty));
    problems.extend(wrong);
    let id = dirs.instance_id();
    let (trusted, trust_lost) = match trust::read(user, &id) {
        Ok(trusted) => (trusted, None),
        Err(error) => {
            let lost = lost_trust(&user.trust(&id), &error);
            (trust::Trusted::default(), Some(lost))
        }
    };
    let power = file.as_ref().map(power).unwrap_or_default();
    only_trusted(&mut config, &trusted.keys);
    let (rules, wrong) = own_rules(&config);
    problems.extend(wrong);
    let before = match &file {
        Some(_) => None,
        None => rules_of_before(dirs),
    };
    Loaded {
        waiting: match &file {
            Some(_) => waiting(&power, &trusted.keys),
            None => Vec::new(),
        },
        trust_lost,
        digest: digest(&power),
        file,
        config,
        are_rules_of_before: before.is_some(),
        rules: before.unwrap_or(rules),
        problems,
    }
}

/// The file's object; an empty one when there is no file.
fn read_file(dirs: &ProjectDirs) -> Result<Map<String, Value>, String> {
    let text = match read_private(&dirs.config(), CONFIG_BYTES_MAX) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err("it is a link, and links in a project are not followed".to_owned());
        }
        Err(error) => return Err(format!("it cannot be read: {error}")),
    };
    match serde_json::from_slice(&text) {
        Ok(PlainValue(Value::Object(file))) => Ok(file),
        Ok(_) => Err("it is not a JSON object".to_owned()),
        Err(error) => Err(format!(
            "it is not JSON (line {}, column {})",
            error.line(),
            error.column()
        )),
    }
}

/// Takes a `config.json` of ContextRelay 3 over, once; `None` when there is none. The file as it
/// was is kept beside it, 0600.
///
/// # Errors
///
/// When the backup or the file cannot be written; the old file is then still there.
pub fn adopt(dirs: &ProjectDirs) -> io::Result<Option<Adopted>> {
    let Ok(text) = read_private(&dirs.config(), CONFIG_BYTES_MAX) else {
        return Ok(None);
    };
    let Ok(PlainValue(Value::Object(file))) = serde_json::from_slice(&text) else {
        return Ok(None);
    };
    if !is_contextrelay_3(&file) {
        return Ok(None);
    }
    let backup = free_name(&dirs.relay, BACKUP_NAME);
    write_private(&backup, &text)?;
    let migrated = migrate(&file);
    save(dirs, &migrated.file)?;
    Ok(Some(Adopted { migrated, backup }))
}

/// Writes the file, 0600.
///
/// # Errors
///
/// As [`write_private`].
pub fn save(dirs: &ProjectDirs, file: &Map<String, Value>) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(file)?;
    text.push(b'\n');
    write_private(&dirs.config(), &text)
}

/// Why what is trusted is not known, with the next step. A file that nobody may read is not replaced by
/// trusting again, and perhaps there is none.
fn lost_trust(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!(
            "what you may have trusted of config.json cannot be read: make {} readable for you, and \
             the folders that it lies in",
            path.display()
        ),
        _ => format!(
            "what you trusted of config.json cannot be read ({error}): trust it again with \
             `ctxrelay trust`"
        ),
    }
}

/// Takes rights of others away from the folders that an older version left open. What is not ours
/// is left as it is.
pub fn close_to_others(dirs: &ProjectDirs) {
    for (path, mode) in [
        (dirs.relay.clone(), 0o700),
        (dirs.sessions(), 0o700),
        (dirs.archives(), 0o700),
        (dirs.state.clone(), 0o700),
        (dirs.config(), 0o600),
    ] {
        let Ok(found) = path.symlink_metadata() else {
            continue;
        };
        let is_open = found.permissions().mode() & 0o077 != 0;
        if found.is_symlink() || !is_open {
            continue;
        }
        let closed = std::fs::Permissions::from_mode(mode);
        if let Err(error) = std::fs::set_permissions(&path, closed) {
            tracing::warn!(path = %path.display(), %error, "stays open to others");
        }
    }
}

#[cfg(test)]
mod tests;
