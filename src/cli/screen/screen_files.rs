//! [`ScreenFiles`]: the user's keys, themes and chosen theme, as files.

use std::path::{Path, PathBuf};

use ctxrelay_ui::{FileProblem, Keymap, NotificationSettings, OwnFiles, SourceError};
use serde_json::Value;

use crate::cli::screen::notification_keys::notification_settings;
use crate::store::user_config::{UserConfig, read_user_file};

/// The key of `config.json` that names the theme.
const THEME_KEY: &str = "theme";

/// What `config.json` may have.
const KEYS: [&str; 4] = [THEME_KEY, "notify", "notifyCommand", "quietHours"];

/// How many keys that it may not have are told, each with so many of its characters.
const UNKNOWN_MAX: usize = 5;
const UNKNOWN_CHARS: usize = 40;

/// The file of the keys, as its problems name it.
pub(in crate::cli) const CONFIG: &str = "config.json";

/// Where they lie.
#[derive(Debug, Clone)]
pub(in crate::cli) struct ScreenFiles {
    /// `None` without a home folder: then there are none, and nothing is kept.
    config: Option<UserConfig>,
}

impl ScreenFiles {
    pub(in crate::cli) fn from_env() -> Self {
        let var = |name: &str| std::env::var_os(name).map(PathBuf::from);
        Self {
            config: UserConfig::from_env(var),
        }
    }

    pub(in crate::cli) fn config(&self) -> Option<&UserConfig> {
        self.config.as_ref()
    }

    /// The folder in which they lie; `/` where there is no home.
    pub(in crate::cli) fn folder(&self) -> &Path {
        self.config.as_ref().map_or(Path::new("/"), UserConfig::dir)
    }

    /// Reads them. What is wrong is among the problems, and the rest counts.
    ///
    /// # Errors
    ///
    /// None that a test has not ruled out: the built-in keymap is read.
    pub(in crate::cli) fn read(&self) -> Result<OwnFiles, SourceError> {
        let mut own = OwnFiles {
            keymap: Keymap::builtin()?,
            themes: Vec::new(),
            theme: None,
            notification: NotificationSettings::default(),
            problems: Vec::new(),
        };
        let Some(config) = &self.config else {
            return Ok(own);
        };
        if let Some(text) = read(&config.keymap(), "keymap.toml", &mut own.problems) {
            let (keymap, wrong) = own.keymap.overlaid(&text);
            own.keymap = keymap;
            let wrong = wrong.iter();
            let wrong = wrong.map(|error| FileProblem::new("keymap.toml", error));
            own.problems.extend(wrong);
        }
        for (name, path) in UserConfig::toml_files(&config.themes()) {
            let file = format!("themes/{name}.toml");
            let text = read(&path, &file, &mut own.problems);
            own.themes.extend(text.map(|text| (name, text)));
        }
        match config.keys() {
            Err(error) => own.problems.push(FileProblem::new(CONFIG, error)),
            Ok(keys) => {
                match keys.get(THEME_KEY) {
                    None => {}
                    Some(Value::String(name)) => own.theme = Some(name.clone()),
                    Some(_) => {
                        let why = "theme is to be the name of one";
                        own.problems.push(FileProblem::new(CONFIG, why));
                    }
                }
                own.notification = notification_settings(&keys, &mut own.problems);
                let unknown = keys.keys().filter(|key| !KEYS.contains(&key.as_str()));
                own.problems.extend(unknown.take(UNKNOWN_MAX).map(|key| {
                    let key: String = key.chars().take(UNKNOWN_CHARS).collect();
                    let known = KEYS.join(", ");
                    FileProblem::new(CONFIG, format!("{key} is none of its keys: {known}"))
                }));
            }
        }
        Ok(own)
    }

    /// Remembers the theme; a sentence when that fails.
    pub(in crate::cli) fn keep_theme(&self, name: &str) -> Result<(), String> {
        let Some(config) = &self.config else {
            return Err("there is no home folder: the theme is not kept".to_owned());
        };
        config.set(THEME_KEY, name.into()).map_err(|error| {
            let path = config.config();
            format!("the theme is not kept: {}: {error}", path.display())
        })
    }
}

fn read(path: &Path, name: &str, problems: &mut Vec<FileProblem>) -> Option<String> {
    read_user_file(path).unwrap_or_else(|error| {
        problems.push(FileProblem::new(name, error));
        None
    })
}
