//! [`with_ours`], [`without_ours`]: our status line in the person's own Claude settings, wrapped
//! around the existing one.
//!
//! Claude runs one status line, and a plugin cannot bring one (Claude Code 2.1.330, observed). So
//! ours runs the person's: its command is an argument of ours, and removing ours needs nothing but
//! the settings file.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::plugin::PluginError;
use super::shell::{Quoted, word};

const KEY: &str = "statusLine";

/// What our command is known by, whichever program it names between the two.
const BEGINS: &str = "[ ! -x '";
const OURS: &str = "' statusline";

const AROUND: &str = " --around ";

/// How often Claude asks for it while nothing happens, in s, where the person had none. The peer
/// works on while Claude is idle.
const REFRESH_S: u64 = 10;

/// Why the settings stay as they are.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// They are no JSON object.
    #[error("they are no JSON object: {0}")]
    Json(String),
    /// A status line that is no command.
    #[error("their `statusLine` is no command, and can run in no other")]
    NoCommand,
    /// Our own path cannot be written.
    #[error(transparent)]
    Program(#[from] PluginError),
}

/// The status line in settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusLineFound {
    /// None, or the person's alone.
    Absent,
    /// Ours, around the person's if there is one.
    Ours {
        /// The person's command.
        around: Option<String>,
        /// It runs the program that asks.
        is_current: bool,
    },
}

/// What the settings have. An empty text is an empty object.
///
/// # Errors
///
/// See [`SettingsError`].
pub fn find(settings: &str, program: &Path) -> Result<StatusLineFound, SettingsError> {
    let settings = object(settings)?;
    let Some(command) = command(&settings)? else {
        return Ok(StatusLineFound::Absent);
    };
    match ours(command) {
        None => Ok(StatusLineFound::Absent),
        Some(around) => Ok(StatusLineFound::Ours {
            is_current: command == written(program, around.as_deref())?,
            around,
        }),
    }
}

/// The settings with ours, which runs `program`; renews an older one of ours. All other members stay,
/// in their order.
///
/// # Errors
///
/// See [`SettingsError`].
pub fn with_ours(settings: &str, program: &Path) -> Result<String, SettingsError> {
    let mut object = object(settings)?;
    let before = command(&object)?.map(str::to_owned);
    let around = match before {
        Some(before) => ours(&before).unwrap_or(Some(before)),
        None => None,
    };
    let command = written(program, around.as_deref())?;
    match object.get_mut(KEY).and_then(Value::as_object_mut) {
        Some(line) => {
            line.insert("command".to_owned(), command.into());
        }
        None => {
            let line = json!({"type": "command", "command": command, "refreshInterval": REFRESH_S});
            object.insert(KEY.to_owned(), line);
        }
    }
    Ok(text(settings, object))
}

/// The settings without ours: the person's own again. `None` when ours is not in them.
///
/// # Errors
///
/// See [`SettingsError`].
pub fn without_ours(settings: &str) -> Result<Option<String>, SettingsError> {
    let mut object = object(settings)?;
    let Some(around) = command(&object)?.and_then(ours) else {
        return Ok(None);
    };
    match (around, object.get_mut(KEY)) {
        (Some(around), Some(line)) => line["command"] = around.into(),
        _ => {
            object.shift_remove(KEY);
        }
    }
    Ok(Some(text(settings, object)))
}

fn object(settings: &str) -> Result<Map<String, Value>, SettingsError> {
    if settings.trim().is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_str(settings).map_err(|error| SettingsError::Json(error.to_string()))
}

/// The command of the status line; `None` when there is no status line.
fn command(settings: &Map<String, Value>) -> Result<Option<&str>, SettingsError> {
    let Some(line) = settings.get(KEY).filter(|line| !line.is_null()) else {
        return Ok(None);
    };
    let command = line.get("command").and_then(Value::as_str);
    let is_command = line.get("type").and_then(Value::as_str) == Some("command");
    match command.filter(|_| is_command) {
        Some(command) => Ok(Some(command)),
        None => Err(SettingsError::NoCommand),
    }
}

/// A program that is gone must not take the person's own line with it.
fn written(program: &Path, around: Option<&str>) -> Result<String, PluginError> {
    let program = Quoted::new(program)?;
    let ours = format!("[ ! -x {program} ] || exec {program} statusline");
    Ok(match around {
        None => ours,
        Some(around) => format!("{ours}{AROUND}{}; {around}", word(around)),
    })
}

/// The person's command in ours; `None` when it is not ours.
fn ours(command: &str) -> Option<Option<String>> {
    let (_, rest) = command.strip_prefix(BEGINS)?.split_once(OURS)?;
    match rest.strip_prefix(AROUND) {
        None => Some(None),
        Some(word) => Some(Some(unquoted(word)?)),
    }
}

/// The word that [`word`] made, at the beginning of this one.
fn unquoted(word: &str) -> Option<String> {
    let mut rest = word.strip_prefix('\'')?;
    let mut text = String::new();
    loop {
        let (part, after) = rest.split_once('\'')?;
        text.push_str(part);
        match after.strip_prefix(r"\''") {
            Some(after) => {
                text.push('\'');
                rest = after;
            }
            None => return Some(text),
        }
    }
}

/// As Claude writes them itself: two blanks a level (2.1.330, observed).
fn text(before: &str, object: Map<String, Value>) -> String {
    let end = if before.is_empty() || before.ends_with('\n') {
        "\n"
    } else {
        ""
    };
    format!("{:#}{end}", Value::Object(object))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::*;

    fn program() -> PathBuf {
        PathBuf::from("/opt/it's here/ctxrelay")
    }

    #[test]
    fn the_persons_own_line_runs_in_ours_and_is_back_when_ours_goes() {
        let before = "{\n  \"model\": \"opus\",\n  \"statusLine\": {\n    \"type\": \"command\",\n    \"command\": \"echo 'my line' | tr a b\",\n    \"padding\": 0\n  },\n  \"env\": {}\n}\n";
        let with = with_ours(before, &program()).unwrap();
        let value: Value = serde_json::from_str(&with).unwrap();
        assert_eq!(value["statusLine"]["padding"], 0);
        assert_eq!(
            find(&with, &program()).unwrap(),
            StatusLineFound::Ours {
                around: Some("echo 'my line' | tr a b".to_owned()),
                is_current: true
            }
        );
        assert_eq!(without_ours(&with).unwrap().unwrap(), before);
        assert_eq!(with_ours(&with, &program()).unwrap(), with);
    }

    #[test]
    fn where_there_was_none_ours_leaves_nothing_behind() {
        let with = with_ours("", &program()).unwrap();
        assert!(with.contains("refreshInterval"));
        assert_eq!(without_ours(&with).unwrap().unwrap(), "{}\n");
        assert_eq!(without_ours("{}").unwrap(), None);
        assert_eq!(find("{}", &program()).unwrap(), StatusLineFound::Absent);
    }

    #[test]
    fn one_of_an_older_program_is_renewed_and_keeps_the_persons() {
        let older = with_ours(
            r#"{"statusLine": {"type": "command", "command": "mine"}}"#,
            Path::new("/old/ctxrelay"),
        )
        .unwrap();
        let StatusLineFound::Ours { around, is_current } = find(&older, &program()).unwrap() else {
            panic!("not ours: {older}");
        };
        assert_eq!((around.as_deref(), is_current), (Some("mine"), false));
        let renewed = with_ours(&older, &program()).unwrap();
        assert!(!renewed.contains("/old/"), "{renewed}");
        assert!(
            without_ours(&renewed)
                .unwrap()
                .unwrap()
                .contains("\"mine\"")
        );
    }

    #[test]
    fn what_is_not_understood_stays_as_it_is() {
        for settings in [
            "[]",
            "{",
            "7",
            r#"{"statusLine": "x"}"#,
            r#"{"statusLine": {"type": "x"}}"#,
        ] {
            assert!(with_ours(settings, &program()).is_err(), "{settings}");
            assert!(without_ours(settings).is_err(), "{settings}");
        }
    }

    #[test]
    fn a_program_that_is_gone_leaves_the_persons_line() {
        let settings = r#"{"statusLine": {"type": "command", "command": "echo 'it is mine'"}}"#;
        let with = with_ours(settings, Path::new("/nowhere/ctxrelay")).unwrap();
        let value: Value = serde_json::from_str(&with).unwrap();
        let command = value["statusLine"]["command"].as_str().unwrap();
        let output = std::process::Command::new("sh")
            .arg("-c")
            .arg(command)
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "it is mine\n");
    }

    proptest! {
        #[test]
        fn whatever_the_persons_command_is_it_comes_back(command in any::<String>(), other in any::<String>()) {
            prop_assume!(!command.starts_with(BEGINS));
            let before = json!({"a": other, "statusLine": {"type": "command", "command": command}});
            let before = format!("{before:#}\n");
            let with = with_ours(&before, &program()).unwrap();
            prop_assert_eq!(without_ours(&with).unwrap().unwrap(), before);
        }
    }
}
