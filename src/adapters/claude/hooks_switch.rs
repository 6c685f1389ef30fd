//! `disableAllHooks`: the switch in Claude's settings that turns our hooks off, and with them every
//! rule. [`hooks_off`] says whether it is set; [`keep_hooks`] prepares a launch in which no file of
//! a project can set it.
//!
//! One line that Claude's shell writes into `.claude/settings.local.json` is enough, and it takes
//! effect at the next tool call. `--settings` overrides every settings file of the project and of
//! the person (Claude Code 2.1.330, observed), but not those managed for the machine.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::iter;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::adapters::plain_file::read_plain;
use crate::adapters::process::environment;
use crate::core::agent::HOOKS_VARIABLE;
use crate::core::plain_value::PlainValue;
use crate::core::policy::ClaudeHooks;

const SWITCH: &str = "disableAllHooks";

/// Where it is managed what every user's Claude does.
const MANAGED: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/ClaudeCode/managed-settings.json"
} else {
    "/etc/claude-code/managed-settings.json"
};

/// There the same, but for hooks of its own.
const MANAGED_ONLY: &str = "allowManagedHooksOnly";

/// The flag that takes settings, as a text or as the name of a file. Of several only the last counts
/// (2.1.330, observed).
const FLAG: &str = "--settings";

/// The longest settings that are read, in bytes; as one argument they are far below what Linux takes.
const SETTINGS_BYTES_MAX: u64 = 64 * 1024;

/// Where Claude's hooks are switched off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HooksOff {
    pub file: PathBuf,
    /// No flag comes before it.
    pub is_managed: bool,
}

impl From<HooksOff> for ClaudeHooks {
    fn from(off: HooksOff) -> Self {
        Self::Off {
            file: off.file.display().to_string(),
            is_managed: off.is_managed,
        }
    }
}

/// Whether a Claude that starts in a project's folder, or in one of these below it, runs no hooks,
/// unless its flags say otherwise. What is not below it does not count. Blocks for the disk.
pub fn hooks_off<'f>(
    project: &Path,
    folders: impl IntoIterator<Item = &'f Path>,
) -> Option<HooksOff> {
    let own = own_folder();
    hooks_off_below(Path::new(MANAGED), project, folders, own.as_deref())
}

/// Which folders above its own Claude reads is not known, so that a switch in any of them counts: a
/// rule is rather said to be ADVISORY than to be enforced where it is not.
fn hooks_off_below<'f>(
    managed: &Path,
    project: &Path,
    folders: impl IntoIterator<Item = &'f Path>,
    own: Option<&Path>,
) -> Option<HooksOff> {
    let of_all = read(managed).unwrap_or_default();
    if [SWITCH, MANAGED_ONLY]
        .iter()
        .any(|key| says(&of_all, key) == Some(true))
    {
        return Some(HooksOff {
            file: managed.to_owned(),
            is_managed: true,
        });
    }
    let own = own.and_then(|own| said_in(own.join("settings.json")));
    let is_below = |folder: &&Path| folder.starts_with(project) && *folder != project;
    let below = |folder: &'f Path| folder.ancestors().take_while(is_below);
    let below: BTreeSet<&Path> = folders.into_iter().flat_map(below).collect();
    let mut folders = iter::once(project).chain(below);
    folders.find_map(|folder| hooks_off_in(folder, own.as_ref()))
}

/// In one folder. `own`: what the person's own settings say.
fn hooks_off_in(folder: &Path, own: Option<&(PathBuf, bool)>) -> Option<HooksOff> {
    let folder = folder.join(".claude");
    // The first that says anything is believed.
    let said = ["settings.local.json", "settings.json"]
        .iter()
        .find_map(|name| said_in(folder.join(name)));
    let (file, is_off) = said.or_else(|| own.cloned())?;
    is_off.then_some(HooksOff {
        file,
        is_managed: false,
    })
}

/// What a file of settings says of the switch.
fn said_in(file: PathBuf) -> Option<(PathBuf, bool)> {
    let is_off = says(&read(&file)?, SWITCH)?;
    Some((file, is_off))
}

fn says(settings: &Map<String, Value>, key: &str) -> Option<bool> {
    settings.get(key).and_then(Value::as_bool)
}

/// The person's own folder of Claude's.
fn own_folder() -> Option<PathBuf> {
    let dir = |name| env::var_os(name).map(PathBuf::from);
    let dir = |name| dir(name).filter(|dir| dir.is_absolute());
    dir("CLAUDE_CONFIG_DIR").or_else(|| Some(dir("HOME")?.join(".claude")))
}

/// A file of settings, also behind a link.
fn read(path: &Path) -> Option<Map<String, Value>> {
    let text = read_plain(&path.canonicalize().ok()?, SETTINGS_BYTES_MAX).ok()?;
    object(&text).ok()
}

/// An agent may have written it: text in it stays text.
fn object(text: &str) -> Result<Map<String, Value>, String> {
    match PlainValue::of(text) {
        Ok(Value::Object(settings)) => Ok(settings),
        Ok(_) => Err("it is no JSON object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The arguments of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptHooks {
    pub args: Vec<OsString>,
    /// Why a file can switch the hooks off all the same, a fragment.
    pub unkept: Option<String>,
}

/// The person's arguments, with settings that keep the hooks on. Theirs stay as they are where they say
/// it themselves, switch them off, or are a file: what that holds is not put where every process can read
/// it. Nor is it said against the person's own settings. `folder` is where Claude starts.
pub fn keep_hooks(user: Vec<OsString>, folder: &Path) -> KeptHooks {
    keep_hooks_in(user, folder, own_folder().as_deref())
}

fn keep_hooks_in(user: Vec<OsString>, folder: &Path, own: Option<&Path>) -> KeptHooks {
    let (theirs, rest) = take_settings(&user);
    let own = own.map(|folder| folder.join("settings.json"));
    let own_off = own.filter(|file| says(&read(file).unwrap_or_default(), SWITCH) == Some(true));
    let settings = match (&theirs, own_off) {
        (None, Some(file)) => Err(format!("{} switches them off", file.display())),
        (None, None) => Ok(Some(Map::new())),
        (Some(theirs), _) => settings_of(theirs, folder),
    };
    let (args, unkept) = match settings {
        Ok(None) => (user, None),
        Ok(Some(mut settings)) => {
            settings.insert(SWITCH.to_owned(), Value::Bool(false));
            let settings = Value::Object(settings).to_string();
            let mut args = vec![OsString::from(FLAG), OsString::from(settings)];
            args.extend(rest);
            (args, None)
        }
        Err(why) => (user, Some(why)),
    };
    KeptHooks { args, unkept }
}

/// The settings among arguments, and the other ones.
fn take_settings(user: &[OsString]) -> (Option<OsString>, Vec<OsString>) {
    let mut settings = None;
    let mut rest = Vec::new();
    let mut words = user.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            rest.push(word.clone());
            break;
        }
        let value = word.as_bytes().strip_prefix(FLAG.as_bytes());
        match value {
            Some([]) => match words.next() {
                Some(value) => settings = Some(value.clone()),
                None => rest.push(word.clone()),
            },
            Some([b'=', value @ ..]) => settings = Some(OsStr::from_bytes(value).to_owned()),
            _ => rest.push(word.clone()),
        }
    }
    rest.extend(words.cloned());
    (settings, rest)
}

/// What `--settings` says, for more to be added; `None` where it keeps the hooks on by itself.
fn settings_of(theirs: &OsStr, folder: &Path) -> Result<Option<Map<String, Value>>, String> {
    let unread = |why: String| format!("your {FLAG} cannot be read: {why}");
    let text = theirs
        .to_str()
        .filter(|text| text.trim_start().starts_with('{'));
    let (text, is_file) = match text {
        Some(text) => (text.to_owned(), false),
        None => {
            let path = folder.join(theirs).canonicalize();
            let text = path.and_then(|path| read_plain(&path, SETTINGS_BYTES_MAX));
            (text.map_err(|error| unread(error.to_string()))?, true)
        }
    };
    let settings = object(&text).map_err(unread)?;
    match settings.get(SWITCH) {
        Some(Value::Bool(false)) => Ok(None),
        Some(_) => Err(format!("your {FLAG} switches them off itself")),
        None if is_file => Err(format!("your {FLAG} file does not say \"{SWITCH}\": false")),
        None => Ok(Some(settings)),
    }
}

/// Whether a Claude was started so that no file of a project switches its hooks off, by what the kernel
/// says of it: a project's file can give what Claude runs another environment, and not Claude itself.
pub fn keeps_hooks(claude: u32) -> bool {
    let said = format!("{HOOKS_VARIABLE}={claude}");
    let environment = environment(claude).unwrap_or_default();
    environment
        .split(|byte| *byte == 0)
        .any(|variable| variable == said.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const KEPT: &str = r#"{"disableAllHooks":false}"#;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn the_file_that_switches_hooks_off_is_found_and_a_nearer_one_comes_before_it() {
        let place = tempfile::tempdir().unwrap();
        let (project, own) = (place.path().join("p"), place.path().join("own"));
        fs::create_dir_all(project.join(".claude")).unwrap();
        fs::create_dir(&own).unwrap();
        let managed = place.path().join("managed.json");
        let found = || {
            let off = hooks_off_below(&managed, &project, iter::empty(), Some(&own))?;
            Some((off.file, off.is_managed))
        };
        assert_eq!(found(), None);
        let [of_user, of_project, local] = [
            own.join("settings.json"),
            project.join(".claude/settings.json"),
            project.join(".claude/settings.local.json"),
        ];
        fs::write(&of_user, r#"{"disableAllHooks": true}"#).unwrap();
        assert_eq!(found(), Some((of_user, false)));
        fs::write(&of_project, KEPT).unwrap();
        assert_eq!(found(), None, "a nearer one says no");
        fs::write(&local, r#"{"disableAllHooks": true}"#).unwrap();
        assert_eq!(found(), Some((local.clone(), false)));
        let as_text = r#"{"disableAllHooks": {"$serde_json::private::RawValue": "true"}}"#;
        fs::write(&local, as_text).unwrap();
        assert_eq!(found(), None, "a text is no JSON");
        fs::write(&local, "no settings").unwrap();
        assert_eq!(found(), None);
        fs::write(&managed, r#"{"allowManagedHooksOnly": true}"#).unwrap();
        assert_eq!(found(), Some((managed.clone(), true)));
    }

    #[test]
    fn a_switch_in_a_folder_between_the_project_and_where_claude_starts_is_found() {
        let place = tempfile::tempdir().unwrap();
        let (project, web) = (place.path().join("p"), place.path().join("p/web"));
        fs::create_dir_all(web.join(".claude")).unwrap();
        let managed = place.path().join("managed.json");
        let found = |folder: &Path| {
            let off = hooks_off_below(&managed, &project, [folder], None)?;
            Some(off.file)
        };
        let file = web.join(".claude/settings.local.json");
        fs::write(&file, r#"{"disableAllHooks": true}"#).unwrap();
        assert_eq!(found(&project), None, "a Claude there does not read it");
        assert_eq!(found(&web), Some(file.clone()));
        assert_eq!(found(&web.join("src")), Some(file));
        assert_eq!(found(place.path()), None);
        // What stands above counts below as well.
        fs::create_dir(project.join(".claude")).unwrap();
        let above = project.join(".claude/settings.json");
        fs::write(&above, r#"{"disableAllHooks": true}"#).unwrap();
        assert_eq!(found(&project.join("docs")), Some(above));
    }

    #[test]
    fn settings_of_the_persons_go_along_and_what_they_say_of_hooks_is_theirs() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("s.json"), r#"{"model":"x"}"#).unwrap();
        let kept = |user: &[&str]| keep_hooks_in(words(user), place.path(), Some(place.path()));
        assert_eq!(
            kept(&["say hi"]).args,
            words(&["--settings", KEPT, "say hi"])
        );
        let both = r#"{"model":"x","disableAllHooks":false}"#;
        let merged = kept(&[
            "--settings=gone.json",
            "--settings",
            r#"{"model":"x"}"#,
            "hi",
        ]);
        assert_eq!(merged.args, words(&["--settings", both, "hi"]));
        assert_eq!(merged.unkept, None);
        // What a file holds is not shown to everybody.
        fs::write(place.path().join("kept.json"), both).unwrap();
        for (user, is_kept) in [
            (&["--settings=s.json", "hi"][..], false),
            (&["--settings", "kept.json", "hi"], true),
            (&["--settings", both, "hi"], true),
        ] {
            let kept = kept(user);
            assert_eq!(kept.args, words(user));
            assert_eq!(kept.unkept.is_none(), is_kept, "{user:?}");
        }
        fs::write(
            place.path().join("settings.json"),
            r#"{"disableAllHooks":true}"#,
        )
        .unwrap();
        let of_own = kept(&["hi"]);
        assert_eq!(of_own.args, words(&["hi"]), "it is their own word");
        assert!(
            of_own
                .unkept
                .unwrap()
                .ends_with("settings.json switches them off")
        );
        fs::remove_file(place.path().join("settings.json")).unwrap();
        // A prompt is no flag.
        let prompt = ["--", "--settings", "gone.json"];
        let args = kept(&prompt).args;
        assert_eq!(args[2..], words(&prompt));
        for user in [
            ["--settings", "gone.json"],
            ["--settings", "{no json"],
            ["--settings", r#"{"disableAllHooks":true}"#],
        ] {
            let kept = kept(&user);
            assert_eq!(kept.args, words(&user));
            assert!(kept.unkept.is_some(), "{user:?}");
        }
    }
}
