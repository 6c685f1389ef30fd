//! [`UserConfig`]: a person's settings for all projects, in a folder of the configuration home.
//!
//! Only the user writes there, so links are followed: many keep such files elsewhere.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::dirs::{if_there, write_private};

/// The largest file that is read there, bytes. The longest keymap has a tenth of it.
pub const USER_FILE_BYTES_MAX: u64 = 64 * 1024;

/// Most files of a folder that are read.
const FILES_MAX: usize = 64;

/// `${XDG_CONFIG_HOME:-~/.config}/ctxrelay`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserConfig {
    dir: PathBuf,
}

impl UserConfig {
    /// Reads the environment through `var`. `None` without a home folder.
    pub fn from_env(var: impl Fn(&str) -> Option<PathBuf>) -> Option<Self> {
        let absolute = |name| var(name).filter(|dir: &PathBuf| dir.is_absolute());
        let base = absolute("XDG_CONFIG_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".config")))?;
        Some(Self {
            dir: base.join("ctxrelay"),
        })
    }

    /// The folder; it need not exist.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// `config.json`.
    pub fn config(&self) -> PathBuf {
        self.dir.join("config.json")
    }

    /// `keymap.toml`.
    pub fn keymap(&self) -> PathBuf {
        self.dir.join("keymap.toml")
    }

    /// `themes`.
    pub fn themes(&self) -> PathBuf {
        self.dir.join("themes")
    }

    /// The keys of `config.json`; none when there is no such file.
    ///
    /// # Errors
    ///
    /// When it cannot be read, is no JSON object, or larger than [`USER_FILE_BYTES_MAX`].
    pub fn keys(&self) -> io::Result<Map<String, Value>> {
        match read_user_file(&self.config())? {
            None => Ok(Map::new()),
            Some(text) => Ok(serde_json::from_str(&text)?),
        }
    }

    /// Sets one key of `config.json`; the others stay as they are, in their order. A reader of the
    /// file sees the old or the new one.
    ///
    /// # Errors
    ///
    /// As [`Self::keys`], and when it cannot be written; the old file is then still there.
    pub fn set(&self, key: &str, value: Value) -> io::Result<()> {
        let mut keys = self.keys()?;
        if keys.get(key) == Some(&value) {
            return Ok(());
        }
        keys.insert(key.to_owned(), value);
        std::fs::create_dir_all(&self.dir)?;
        let mut text = serde_json::to_vec_pretty(&keys)?;
        text.push(b'\n');
        // A link stays one: what it leads to is replaced.
        let path = self.config();
        let path = path.canonicalize().unwrap_or(path);
        write_private(&path, &text)
    }

    /// The names (without `.toml`) and paths of the files of a folder, in their order; a name that
    /// is no plain word is left out.
    pub fn toml_files(dir: &Path) -> Vec<(String, PathBuf)> {
        let Ok(entries) = std::fs::read_dir(dir) else {
            return Vec::new();
        };
        let named = entries.flatten().filter_map(|entry| {
            let path = entry.path();
            let name = path.file_stem()?.to_str()?.to_owned();
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            let is_ours = path.extension()? == "toml" && name.len() <= 64;
            (is_ours && name.chars().all(plain)).then_some((name, path))
        });
        let mut files: Vec<_> = named.collect();
        files.sort();
        files.truncate(FILES_MAX);
        files
    }
}

/// The text of a file that should be small; `None` when there is none.
///
/// # Errors
///
/// When it cannot be read, is no plain file, no UTF-8, or larger than [`USER_FILE_BYTES_MAX`].
pub fn read_user_file(path: &Path) -> io::Result<Option<String>> {
    let refused = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidData, why.to_owned()));
    // Opening a pipe waits for its other end otherwise. On a plain file the flag does nothing.
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
        .open(path);
    let Some(file) = if_there(opened)? else {
        return Ok(None);
    };
    if !file.metadata()?.is_file() {
        return refused("it is not a plain file");
    }
    let mut bytes = Vec::new();
    file.take(USER_FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > USER_FILE_BYTES_MAX {
        return refused("it is larger than 64 KiB");
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(_) => refused("it is not UTF-8"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::UserConfig;

    fn config(home: &tempfile::TempDir) -> UserConfig {
        let home = home.path().to_owned();
        UserConfig::from_env(|name| (name == "HOME").then(|| home.clone())).unwrap()
    }

    #[test]
    fn the_folder_is_where_the_environment_says() {
        let dir = |vars: &[(&str, &str)]| {
            let var = |name: &str| {
                let found = vars.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| PathBuf::from(value))
            };
            UserConfig::from_env(var).map(|config| config.dir().to_owned())
        };
        let given = dir(&[("XDG_CONFIG_HOME", "/c"), ("HOME", "/h")]);
        assert_eq!(given, Some(PathBuf::from("/c/ctxrelay")));
        // A relative one would depend on where one stands.
        let relative = dir(&[("XDG_CONFIG_HOME", "c"), ("HOME", "/h")]);
        assert_eq!(relative, Some(PathBuf::from("/h/.config/ctxrelay")));
        assert_eq!(dir(&[]), None);
    }

    #[test]
    fn one_key_is_set_and_the_others_stay_in_their_order() {
        let home = tempfile::tempdir().unwrap();
        let config = config(&home);
        config.set("theme", "nord".into()).unwrap();
        fs::write(config.config(), r#"{"z": [1], "theme": "nord", "a": null}"#).unwrap();
        config.set("theme", "mono".into()).unwrap();
        let text = fs::read_to_string(config.config()).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let keys: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
        assert_eq!(keys, ["z", "theme", "a"]);
        assert_eq!(value["theme"], "mono");
        assert_eq!(value["z"][0], 1);
    }

    #[test]
    fn a_file_that_is_no_json_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let config = config(&home);
        fs::create_dir_all(config.dir()).unwrap();
        fs::write(config.config(), "{ theme").unwrap();
        config.set("theme", "mono".into()).unwrap_err();
        assert_eq!(fs::read_to_string(config.config()).unwrap(), "{ theme");
    }

    #[test]
    fn a_link_stays_a_link() {
        let home = tempfile::tempdir().unwrap();
        let config = config(&home);
        fs::create_dir_all(config.dir()).unwrap();
        let real = home.path().join("dotfiles.json");
        fs::write(&real, "{}").unwrap();
        symlink(&real, config.config()).unwrap();
        config.set("theme", "mono".into()).unwrap();
        assert!(config.config().symlink_metadata().unwrap().is_symlink());
        assert!(fs::read_to_string(&real).unwrap().contains("mono"));
    }

    #[test]
    fn what_is_no_small_text_file_is_refused_and_names_are_plain_words() {
        let home = tempfile::tempdir().unwrap();
        let config = config(&home);
        let themes = config.themes();
        assert!(UserConfig::toml_files(&themes).is_empty());
        fs::create_dir_all(&themes).unwrap();
        for name in ["b.toml", "a.toml", "no.txt", "e\u{1b}vil.toml"] {
            fs::write(themes.join(name), "").unwrap();
        }
        let names: Vec<_> = UserConfig::toml_files(&themes)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["a", "b"]);
        fs::write(config.keymap(), vec![b' '; 65 * 1024]).unwrap();
        let error = super::read_user_file(&config.keymap()).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 64 KiB");
        fs::write(config.keymap(), [0xff]).unwrap();
        let error = super::read_user_file(&config.keymap()).unwrap_err();
        assert_eq!(error.to_string(), "it is not UTF-8");
        assert!(super::read_user_file(&themes).is_err());
    }
}
