//! [`fallback_names`]: the instruction files that Codex's configuration adds.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use crate::adapters::plain_file::read_plain;

/// The key for file names that Codex reads where there is no `AGENTS.md`.
const KEY: &str = "project_doc_fallback_filenames";

/// The longest configuration that is read, in bytes.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Where Codex's own configuration of this user lies: `$CODEX_HOME`, or `.codex` in the home.
pub fn codex_home() -> Option<PathBuf> {
    let dir = |name| std::env::var_os(name).map(PathBuf::from);
    let dir = |name| dir(name).filter(|dir| dir.is_absolute());
    dir("CODEX_HOME").or_else(|| Some(dir("HOME")?.join(".codex")))
}

/// The names in the project's own configuration and in the user's, whichever of them Codex takes.
///
/// # Errors
///
/// Why they are not known: the file that is there and cannot be read.
pub fn fallback_names(root: &Path, codex_home: Option<&Path>) -> Result<Vec<String>, String> {
    let mut names: Vec<String> = Vec::new();
    let project = root.join(".codex");
    for folder in [Some(project.as_path()), codex_home].into_iter().flatten() {
        let file = folder.join("config.toml");
        let unknown = |why: &dyn fmt::Display| format!("{} is unreadable ({why})", file.display());
        let text = match file
            .canonicalize()
            .and_then(|real| read_plain(&real, FILE_BYTES_MAX))
        {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(unknown(&error)),
        };
        let config: toml::Table = text
            .parse()
            .map_err(|error: toml::de::Error| unknown(&error.message()))?;
        let listed = config.get(KEY).and_then(toml::Value::as_array);
        for name in listed.into_iter().flatten().filter_map(toml::Value::as_str) {
            // A name of this folder: the project's configuration may be anybody's.
            if Path::new(name).file_name() == Some(name.as_ref())
                && !names.iter().any(|known| known == name)
            {
                names.push(name.to_owned());
            }
        }
    }
    Ok(names)
}
