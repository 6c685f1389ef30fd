//! [`Gate`]: a command of the project that gives evidence.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::bounded::Seconds;
use super::sorted::sorted;
use crate::entry::GateRun;
use crate::hex::hex;
use crate::snapshot::GateInForce;

/// How many gates a project has at most.
pub const GATES_MAX: usize = 32;

/// How many hex digits of a digest name what a gate runs.
const SPEC_CHARS: usize = 16;

/// The longest name, in characters.
const NAME_CHARS_MAX: usize = 40;

/// How many globs say when a gate is needed.
const GLOBS_MAX: usize = 32;

/// The longest glob, in characters.
const GLOB_CHARS_MAX: usize = 200;

/// A command whose exit code is evidence. Counts only as the operator last trusted it:
/// `ctxrelay trust`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// Its name: 1 to 40 letters, digits, `_`, `-` or `.`.
    #[serde(deserialize_with = "name")]
    #[schemars(length(min = 1, max = 40), regex(pattern = r"^[A-Za-z0-9_.-]+$"))]
    pub name: String,
    /// What `sh -c` runs; exit code 0 is green.
    #[serde(deserialize_with = "cmd")]
    #[schemars(length(min = 1, max = 4000))]
    pub cmd: String,
    /// Where, as a path inside the project; the project's folder by itself.
    #[serde(
        default,
        deserialize_with = "cwd",
        skip_serializing_if = "Option::is_none"
    )]
    pub cwd: Option<String>,
    /// It is needed only if such files changed since the last approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<GateWhen>,
    /// `worktree`: not in the project, but in a clean work tree of the commit, made for this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// What `sh -c` runs before it in the same folder, for example `npm ci`; the gate runs only
    /// when that succeeds.
    #[serde(
        default,
        deserialize_with = "setup",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(length(min = 1, max = 4000))]
    pub setup: Option<String>,
    /// It, its setup and all that they started are ended after this many seconds.
    #[serde(default)]
    pub timeout_s: Seconds<1, 86_400, 600>,
    /// Nothing is approved while it is not green on the tree that was proposed.
    #[serde(default = "yes")]
    pub required: bool,
}

/// When a gate is needed that is not always needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GateWhen {
    /// Globs of paths from the project's folder: `*` and `?` stay in one folder, `**` crosses them.
    #[serde(deserialize_with = "globs")]
    #[schemars(length(min = 1, max = 32), inner(length(min = 1, max = 200)))]
    pub paths: Vec<String>,
}

/// Where a gate runs that does not run in the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// In a clean work tree of the commit, outside of the project, removed afterwards.
    Worktree,
}

fn yes() -> bool {
    true
}

fn name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let name = String::deserialize(from)?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || name.len() > NAME_CHARS_MAX || !name.chars().all(is_word) {
        let why = "a gate's name is 1 to 40 letters, digits, `_`, `-` or `.`";
        return Err(D::Error::custom(why));
    }
    Ok(name)
}

fn cmd<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let cmd = String::deserialize(from)?;
    match is_command(&cmd) {
        true => Ok(cmd),
        false => Err(D::Error::custom(
            "a gate's command has 1 to 4000 characters",
        )),
    }
}

fn setup<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let setup = Option::<String>::deserialize(from)?;
    if setup.as_deref().is_some_and(|setup| !is_command(setup)) {
        let why = "a gate's setup command has 1 to 4000 characters";
        return Err(D::Error::custom(why));
    }
    Ok(setup)
}

fn globs<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let globs = Vec::<String>::deserialize(from)?;
    let is_glob = |glob: &String| {
        let is_short = !glob.is_empty() && glob.chars().count() <= GLOB_CHARS_MAX;
        is_short && !glob.starts_with('/') && !glob.ends_with('/') && !glob.contains("..")
    };
    if globs.is_empty() || globs.len() > GLOBS_MAX || !globs.iter().all(is_glob) {
        let why = "`when.paths` has 1 to 32 globs of paths from the project's folder, such as \
                   `web/**`";
        return Err(D::Error::custom(why));
    }
    Ok(globs)
}

fn is_command(text: &str) -> bool {
    let is_said = !text.trim().is_empty() && text.chars().count() <= GateRun::CMD_CHARS_MAX;
    is_said && !text.contains('\0')
}

fn cwd<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let mut cwd = Option::<String>::deserialize(from)?;
    // A folder is often named with a slash behind it.
    if let Some(cwd) = &mut cwd
        && cwd.ends_with('/')
    {
        cwd.pop();
    }
    if cwd.as_deref().is_some_and(|cwd| !is_inside(cwd)) {
        return Err(D::Error::custom("a gate runs in a folder of the project"));
    }
    Ok(cwd)
}

/// Whether a path leads nowhere else by its own words; what is a link on the disk is seen when it
/// is followed.
fn is_inside(path: &str) -> bool {
    let mut parts = path.split('/');
    !path.is_empty() && !path.contains('\0') && parts.all(|part| !part.is_empty() && part != "..")
}

impl Gate {
    /// What names what it runs and where: a run of another command under the same name proves
    /// nothing for this one. Not affected by `required`, `when` and the time
    /// limit.
    pub fn spec(&self) -> String {
        let mut what = Map::new();
        what.insert("cmd".to_owned(), Value::String(self.cmd.clone()));
        what.insert("cwd".to_owned(), self.cwd.clone().into());
        // Only where they are used: what ran before there were any is still proof.
        if let Some(setup) = &self.setup {
            what.insert("setup".to_owned(), setup.clone().into());
        }
        if self.isolation == Some(Isolation::Worktree) {
            what.insert("isolation".to_owned(), "worktree".into());
        }
        let text = sorted(&Value::Object(what)).to_string();
        let mut spec = hex(&Sha256::digest(text.as_bytes()));
        spec.truncate(SPEC_CHARS);
        spec
    }
}

impl From<&Gate> for GateInForce {
    fn from(gate: &Gate) -> Self {
        Self {
            name: gate.name.clone(),
            cmd: gate.cmd.clone(),
            spec: gate.spec(),
            required: gate.required,
            setup: gate.setup.clone(),
            isolated: gate.isolation.is_some(),
            when: gate.when.clone().map(|when| when.paths).unwrap_or_default(),
            unreadable: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_gate_needs_a_name_and_a_command_and_the_rest_has_defaults() {
        let gates: Vec<Gate> = serde_json::from_value(json!([
            {"name": "tests", "cmd": "cargo test"},
            {"name": "e2e", "cmd": "x", "required": false, "timeout_s": 5, "cwd": "web/app"},
        ]))
        .unwrap();
        assert_eq!(gates.len(), 2);
        assert_eq!(
            (gates[0].required, gates[0].timeout_s.get(), &gates[0].cwd),
            (true, 600, &None)
        );
        assert_eq!((gates[1].required, gates[1].timeout_s.get()), (false, 5));
    }

    #[test]
    fn another_command_or_folder_is_another_gate_and_a_time_limit_is_not() {
        let spec = |value: Value| serde_json::from_value::<Gate>(value).unwrap().spec();
        let one = spec(json!({"name": "t", "cmd": "make"}));
        assert_eq!(one.len(), SPEC_CHARS);
        assert_eq!(
            one,
            spec(json!({"name": "t", "cmd": "make", "timeout_s": 9, "required": false}))
        );
        assert_ne!(one, spec(json!({"name": "t", "cmd": "make "})));
        assert_ne!(one, spec(json!({"name": "t", "cmd": "make", "cwd": "a"})));
        let isolated = spec(json!({"name": "t", "cmd": "make", "isolation": "worktree"}));
        let prepared = spec(json!({"name": "t", "cmd": "make", "setup": "./configure"}));
        assert_ne!(one, isolated);
        assert_ne!(one, prepared);
        assert_ne!(isolated, prepared);
    }
}
