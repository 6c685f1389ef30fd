//! [`Arguments`]: the part of the app-server's command line that matters here.

use std::ffi::OsString;

use crate::demo::pace::Pace;

/// Where the tools are, from `-c mcp_servers.NAME={url="…",bearer_token_env_var="…"}`.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct McpEntry {
    /// The port on 127.0.0.1.
    pub(super) port: u16,
    pub(super) path: String,
    /// The secret, out of the named variable. Never logged.
    pub(super) token: String,
}

impl std::fmt::Debug for McpEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "127.0.0.1:{}{}", self.port, self.path)
    }
}

/// The command line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Arguments {
    pub(super) pace: Pace,
    /// `--listen`, a port on 127.0.0.1; 0 for any.
    pub(super) port: u16,
    /// `--ws-token-sha256`, hex digits.
    pub(super) token_sha256: String,
    /// The tools, if any were configured.
    pub(super) mcp: Option<McpEntry>,
}

impl Arguments {
    /// Reads the command line, and the secret from the environment.
    pub(super) fn read(args: Vec<OsString>) -> Result<Self, String> {
        Self::read_with(args, |name| std::env::var(name).ok())
    }

    fn read_with(
        args: Vec<OsString>,
        var: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let mut words = args.into_iter().map(|word| {
            word.into_string()
                .map_err(|word| format!("{} is no text", word.display()))
        });
        let mut pace = Pace::new(1.0).map_err(|error| error.to_string())?;
        let (mut port, mut token_sha256, mut mcp) = (None, None, None);
        while let Some(word) = words.next() {
            let word = word?;
            let mut value = || {
                words
                    .next()
                    .unwrap_or_else(|| Err(format!("{word} needs a value")))
            };
            match word.as_str() {
                "--speed" => {
                    let speed = value()?;
                    let number = speed.parse().map_err(|_| format!("{speed} is no speed"))?;
                    pace = Pace::new(number).map_err(|error| error.to_string())?;
                }
                "--listen" => {
                    let url = value()?;
                    port = url
                        .strip_prefix("ws://127.0.0.1:")
                        .and_then(|port| port.parse().ok());
                }
                "--ws-auth" => {
                    let kind = value()?;
                    if kind != "capability-token" {
                        return Err(format!("--ws-auth {kind} is not in the demo"));
                    }
                }
                "--ws-token-sha256" => token_sha256 = Some(value()?),
                "--disable" => {
                    value()?;
                }
                "-c" => {
                    let setting = value()?;
                    mcp = mcp.or_else(|| entry(&setting, &var));
                }
                "--" | "app-server" => {}
                other => return Err(format!("{other} is not in the demo")),
            }
        }
        Ok(Self {
            pace,
            port: port.ok_or("--listen ws://127.0.0.1:PORT is missing")?,
            token_sha256: token_sha256.ok_or("--ws-token-sha256 is missing")?,
            mcp,
        })
    }
}

/// The first usable entry of a `-c` setting.
fn entry(setting: &str, var: impl Fn(&str) -> Option<String>) -> Option<McpEntry> {
    let setting: toml::Table = setting.parse().ok()?;
    let servers = setting.get("mcp_servers")?.as_table()?;
    servers.values().find_map(|server| {
        let url = server.get("url")?.as_str()?;
        let (port, path) = url.strip_prefix("http://127.0.0.1:")?.split_once('/')?;
        let variable = server.get("bearer_token_env_var")?.as_str()?;
        Some(McpEntry {
            port: port.parse().ok()?,
            path: format!("/{path}"),
            token: var(variable)?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Arguments, String> {
        Arguments::read_with(words.iter().map(OsString::from).collect(), |name| {
            (name == "SECRET").then(|| "s3".to_owned())
        })
    }

    #[test]
    fn the_adapters_command_line_is_read() {
        let arguments = read(&[
            "--speed", "10", "--", "app-server", "--listen", "ws://127.0.0.1:0", "--ws-auth",
            "capability-token", "--ws-token-sha256", "ab", "--disable", "instant_interrupt", "-c",
            "mcp_servers.ctxrelay={url=\"http://127.0.0.1:4502/mcp\",bearer_token_env_var=\"SECRET\",\
             default_tools_approval_mode=\"approve\",tool_timeout_sec=60}",
            "-c", "shell_environment_policy.set.SECRET=\"\"",
        ])
        .unwrap();
        assert_eq!(arguments.port, 0);
        assert_eq!(arguments.token_sha256, "ab");
        assert_eq!(arguments.pace, Pace::new(10.0).unwrap());
        let mcp = arguments.mcp.unwrap();
        assert_eq!(
            (mcp.port, mcp.path.as_str(), mcp.token.as_str()),
            (4502, "/mcp", "s3")
        );
        assert!(!format!("{mcp:?}").contains("s3"));
    }

    #[test]
    fn what_would_be_another_listener_is_refused() {
        for words in [
            &["app-server"][..],
            &[
                "app-server",
                "--listen",
                "ws://0.0.0.0:1",
                "--ws-token-sha256",
                "ab",
            ],
            &["app-server", "--listen", "ws://127.0.0.1:1"],
            &["app-server", "--listen"],
            &["exec", "ls"],
        ] {
            assert!(read(words).is_err(), "{words:?}");
        }
    }
}
