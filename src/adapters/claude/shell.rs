//! [`Quoted`]: a path that passes unchanged through a shell, JSON and Claude's own substitution.

use std::fmt;
use std::path::Path;

use super::plugin::PluginError;

/// An absolute path as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Quoted(String);

impl Quoted {
    /// Takes a path that every reader of the plugin takes for the same one.
    ///
    /// # Errors
    ///
    /// When it is relative or no text, or holds a line end or `${`: Claude Code 2.1.330 replaces
    /// `${NAME}` wherever it stands, and knows no escape for it (observed).
    pub(super) fn new(path: &Path) -> Result<Self, PluginError> {
        let refuse = |why| PluginError::Path {
            path: path.to_path_buf(),
            why,
        };
        let text = path.to_str().ok_or_else(|| refuse("it is not UTF-8"))?;
        if !path.is_absolute() {
            return Err(refuse("it is not absolute"));
        }
        if text.contains("${") {
            return Err(refuse("it holds `${`, which Claude Code would replace"));
        }
        if text.chars().any(char::is_control) {
            return Err(refuse("it holds a control character"));
        }
        Ok(Self(text.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// One word for a POSIX shell.
impl fmt::Display for Quoted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&word(&self.0))
    }
}

/// Any text as one word for a POSIX shell.
pub(in crate::adapters) fn word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_gives_every_path_back_as_it_was() {
        for path in [
            "/a b/c",
            "/it's/$HOME/`id`/$(id)",
            "/\"quoted\"/\\back\\",
            "/-n/*?[x]/#!/ü",
        ] {
            let quoted = Quoted::new(Path::new(path)).unwrap();
            let output = std::process::Command::new("sh")
                .arg("-c")
                .arg(format!("printf %s {quoted}"))
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), path);
        }
    }

    #[test]
    fn a_path_that_would_be_changed_on_its_way_is_refused() {
        for path in ["relative", "/a/${HOME}/b", "/a\nb"] {
            assert!(Quoted::new(Path::new(path)).is_err(), "{path:?}");
        }
    }
}
