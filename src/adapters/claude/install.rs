//! [`Marketplace`]: the plugin for a plain `claude`, as the only one of a marketplace in a folder
//! of ours.
//!
//! Claude reads a marketplace in a folder where it lies (2.1.330, observed), so the folder's name
//! has no version: an upgrade is live when Claude next starts. `claude plugin` changes the user's
//! own settings; the caller asks before it runs [`Marketplace::install`] or [`remove`].

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;

use super::files::{Tree, is_current, write_tree};
use super::plugin::{PLUGIN_NAME, PluginError, PluginSpec};

/// The marketplace's name.
pub const MARKETPLACE_NAME: &str = "ctxrelay-market";

/// What names its plugins, in the folder.
const MANIFEST: &str = ".claude-plugin/marketplace.json";

/// Arguments of one `claude` command.
pub type ClaudeArgs = Vec<OsString>;

/// The folder that `claude plugin marketplace add` is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marketplace {
    dir: PathBuf,
    plugin: PluginSpec,
}

/// What `claude plugin list --json` tells about our plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installed {
    /// It is not there.
    No,
    /// It is there, and Claude loads it.
    Enabled(String),
    /// It is there, and the user has switched it off.
    Disabled(String),
}

impl Marketplace {
    /// The one in the user's data folder, with a plugin that serves whatever project Claude runs in.
    /// A file of that project can name another registry in the environment of its hooks; they look
    /// for trust in this one.
    pub fn new(data: &Path, program: PathBuf, version: &str, registry: PathBuf) -> Self {
        Self {
            dir: data.join("market"),
            plugin: PluginSpec {
                program,
                version: version.to_owned(),
                project: None,
                registry: Some(registry),
            },
        }
    }

    /// Writes it. Says whether anything had to be written.
    ///
    /// # Errors
    ///
    /// See [`PluginError`].
    pub fn write(&self) -> Result<bool, PluginError> {
        let wrote = self.plugin.write(&self.plugin_dir())?;
        let tree = self.manifest();
        let wrote_manifest = write_tree(&self.dir, &tree).map_err(|source| PluginError::Write {
            dir: self.dir.clone(),
            source,
        })?;
        Ok(wrote || wrote_manifest)
    }

    /// Writes it again where one is there of an earlier version of this program, or of one that is gone:
    /// Claude reads it from where it lies. Says whether anything had to be written. One of another
    /// program or registry is left alone: what somebody builds and runs once, or a process whose
    /// environment names another registry, would take the rules away from every plain `claude`.
    ///
    /// # Errors
    ///
    /// See [`PluginError`].
    pub fn renew(&self) -> Result<bool, PluginError> {
        match self.is_there() && !self.is_of_another_registry() && !self.is_of_another_program() {
            true => self.write(),
            false => Ok(false),
        }
    }

    /// Removes what was written; Claude does not read it any more.
    ///
    /// # Errors
    ///
    /// When it cannot be removed.
    pub fn discard(&self) -> io::Result<()> {
        match std::fs::remove_dir_all(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// Whether one was written.
    pub fn is_there(&self) -> bool {
        self.dir.join(MANIFEST).is_file()
    }

    /// Whether the one that is there is the one that would be written now.
    pub fn is_current(&self) -> bool {
        self.plugin.is_current(&self.plugin_dir()) && is_current(&self.dir, &self.manifest())
    }

    /// One of an earlier version looks for trust in whatever registry its environment names.
    fn is_of_another_registry(&self) -> bool {
        let found = self.plugin.registry_in(&self.plugin_dir());
        found.is_some() && found != self.plugin.registry
    }

    fn is_of_another_program(&self) -> bool {
        let found = self.plugin.program_in(&self.plugin_dir());
        found.is_some_and(|found| found != self.plugin.program && found.exists())
    }

    fn plugin_dir(&self) -> PathBuf {
        self.dir.join("plugins").join(PLUGIN_NAME)
    }

    fn manifest(&self) -> Tree {
        let manifest = json!({
            "name": MARKETPLACE_NAME,
            "owner": {"name": "ctxrelay"},
            "description": "The Claude Code plugin of the ctxrelay that is installed here",
            "plugins": [{
                "name": PLUGIN_NAME,
                "source": format!("./plugins/{PLUGIN_NAME}"),
                "description": "Claude Code and Codex as one auditable team, over ctxrelay",
                "version": self.plugin.version,
            }],
        });
        vec![(MANIFEST, format!("{manifest:#}\n"))]
    }

    /// What `claude` is run with, one after the other, to install the plugin for this user. Both
    /// may be repeated.
    pub fn install(&self) -> [ClaudeArgs; 2] {
        let mut add = words(&["plugin", "marketplace", "add"]);
        add.push(self.dir.as_os_str().to_owned());
        let install = words(&["plugin", "install", &plugin_id(), "--scope", "user"]);
        [add, install]
    }
}

/// What `claude` is run with to take the plugin away again.
pub fn remove() -> [ClaudeArgs; 2] {
    [
        words(&["plugin", "uninstall", &plugin_id(), "--scope", "user"]),
        words(&["plugin", "marketplace", "remove", MARKETPLACE_NAME]),
    ]
}

/// What `claude` is run with to find out; its output is for [`Installed::read`].
pub fn list() -> ClaudeArgs {
    words(&["plugin", "list", "--json"])
}

/// The plugin's name for `claude plugin`.
pub fn plugin_id() -> String {
    format!("{PLUGIN_NAME}@{MARKETPLACE_NAME}")
}

impl Installed {
    /// Reads the output of [`list`]; `None` when it is not understood.
    pub fn read(json: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Row {
            id: String,
            #[serde(default)]
            version: String,
            #[serde(default)]
            enabled: bool,
        }
        let rows: Vec<Row> = serde_json::from_str(json).ok()?;
        let ours = rows.into_iter().find(|row| row.id == plugin_id());
        Some(match ours {
            None => Self::No,
            Some(row) if row.enabled => Self::Enabled(row.version),
            Some(row) => Self::Disabled(row.version),
        })
    }
}

fn words(words: &[&str]) -> ClaudeArgs {
    words.iter().map(OsString::from).collect()
}

#[cfg(test)]
mod tests;
