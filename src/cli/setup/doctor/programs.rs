//! The checks of the programs that are not ours: both agents, the plugin in one of them, tmux.

use std::env;
use std::path::Path;
use std::time::Duration;

use super::check::{Check, bad, good, note};
use crate::adapters::claude::hooks_switch::hooks_off;
use crate::cli::agents::claude::{market, plugin_dir, plugin_spec};
use crate::cli::agents::launch::capture;
use crate::cli::settings::find_program;
use crate::cli::setup::codex_mcp::{INSTALL_HINT, own_entry, told_bound};
use crate::host::ProjectContext;
use crate::store::config;
use crate::store::dirs::exists;
use crate::wire::status::{NoticeKey, Status};

/// How long `codex --version` and the like may take.
const VERSION_WAIT: Duration = Duration::from_secs(5);

/// The oldest Claude Code whose plugins have monitors.
const CLAUDE_MIN: [u64; 3] = [2, 1, 80];

/// The Codex that this version was built against.
const CODEX_TRIED: [u64; 3] = [0, 169, 0];

/// How to have the Codex that this version was built against.
const CODEX_TRIED_HINT: &str = "if Codex does not work, install the one that this was built against: npm install -g \
     @openai/codex@0.169.0";

pub(super) fn codex(project: &ProjectContext, status: Option<&Status>) -> Check {
    let Some(program) = project.codex_program.find() else {
        return note(
            "codex",
            "the `codex` program is not found; everything else works",
            "npm install -g @openai/codex, or name it with CONTEXTRELAY_CODEX_BIN",
        );
    };
    match version(project, &program) {
        Ok(version) => of_codex(&version, status),
        Err(why) => bad("codex", why, "run `codex --version` by yourself"),
    }
}

/// What is to be known of the installed Codex, and of how the daemon fares with it.
fn of_codex(version: &Version, status: Option<&Status>) -> Check {
    let mut said = vec![version.text.clone()];
    let mut hint = "";
    let server = status.and_then(|status| status.agents.codex.app_server.as_ref());
    let other = server.filter(|server| numbers(&server.version) != Some(version.numbers));
    if let Some(server) = other {
        said.push(format!("the app-server that runs is {}", server.version));
        hint = "`ctxrelay kill` ends it; the next start takes the installed Codex";
    }
    if version.numbers < CODEX_TRIED {
        said[0].push_str(", older than what this was built against");
        hint = "update Codex if it does not answer";
    }
    if version.numbers > CODEX_TRIED {
        said[0].push_str(", newer than what this was built against");
        hint = CODEX_TRIED_HINT;
    }
    if let Some(trouble) = status.and_then(codex_trouble) {
        said.push(format!("the daemon cannot use it: {trouble}"));
        hint = match version.numbers == CODEX_TRIED {
            true => "`codex mcp list` says what Codex finds wrong in its configuration",
            false => CODEX_TRIED_HINT,
        };
    }
    note("codex", said.join("\n"), hint)
}

/// Why the daemon cannot use Codex's program.
fn codex_trouble(status: &Status) -> Option<&String> {
    let mut notices = status.notice_keys.iter().zip(&status.notices);
    let (_, trouble) = notices.find(|(key, _)| **key == NoticeKey::Codex)?;
    Some(trouble)
}

/// The entry for a plain `codex`, where an earlier version bound it to one project, or it starts
/// another program; and why Codex does not tell it: with a configuration that it cannot read it does
/// nothing else either.
pub(super) fn codex_mcp(project: &ProjectContext) -> Option<Check> {
    const ID: &str = "codex-mcp";
    let program = project.codex_program.find()?;
    let list = ["mcp", "list", "--json"].map(Into::into);
    let said = capture(&program, &list, &project.dirs.root, VERSION_WAIT).ok()?;
    if !said.ok {
        let message = format!("`codex mcp list` failed: {}", said.why());
        return Some(bad(ID, message, "mend what Codex names there"));
    }
    let entry = own_entry(&said.stdout)?;
    if let Some(project) = entry.bound_to {
        return Some(note(
            ID,
            format!(
                "the entry for a plain `codex` serves one project: {}",
                told_bound(&project)
            ),
            format!("{INSTALL_HINT} writes it anew, for every project"),
        ));
    }
    let is_own = |program: &String| Path::new(program) == project.own_program;
    let other = entry.program.filter(|program| !is_own(program))?;
    let how = match Path::new(&other).exists() {
        true => "another program",
        false => "a program that is not there",
    };
    Some(note(
        ID,
        format!("the entry for a plain `codex` starts {how}: {other}"),
        format!("{INSTALL_HINT} makes it start this one"),
    ))
}

/// A file that switches the hooks off of a Claude that is started here.
pub(super) fn hooks(project: &ProjectContext) -> Option<Check> {
    const ID: &str = "hooks";
    let here = env::current_dir().ok();
    let off = hooks_off(&project.dirs.root, here.as_deref())?;
    let file = off.file.display();
    Some(match off.is_managed {
        true => note(
            ID,
            format!("hooks are switched off in {file}: your rules for Claude are ADVISORY"),
            "ask the administrator of this machine",
        ),
        false => note(
            ID,
            format!(
                "hooks are switched off in {file} (`disableAllHooks`): your rules are ADVISORY for a \
                 Claude that was not started with `ctxrelay claude`"
            ),
            format!("take `disableAllHooks` out of {file}, or start Claude with `ctxrelay claude`"),
        ),
    })
}

pub(super) fn claude(project: &ProjectContext) -> Check {
    let Some(program) = project.claude_program.find() else {
        let loaded = config::load(&project.dirs, &project.user_dirs);
        let asks = loaded.config.continuity.extract.every_turns.get() > 0;
        return note(
            "claude",
            match asks {
                true => {
                    "the `claude` program is not found, so that no model is asked what the agents \
                     are at (continuity.extract); everything else works"
                }
                false => "the `claude` program is not found; everything else works",
            },
            "npm install -g @anthropic-ai/claude-code, or name it with CONTEXTRELAY_CLAUDE_BIN",
        );
    };
    match version(project, &program) {
        Ok(version) if version.numbers < CLAUDE_MIN => bad(
            "claude",
            format!("{} is too old: its plugins cannot wake it", version.text),
            "update Claude Code to 2.1.80 or later",
        ),
        Ok(version) => good("claude", version.text),
        Err(why) => bad("claude", why, "run `claude --version` by yourself"),
    }
}

/// What a program says about itself.
struct Version {
    text: String,
    numbers: [u64; 3],
}

fn version(project: &ProjectContext, program: &Path) -> Result<Version, String> {
    let said = capture(
        program,
        &["--version".into()],
        &project.dirs.root,
        VERSION_WAIT,
    )?;
    let text = said
        .stdout
        .lines()
        .next()
        .unwrap_or_default()
        .trim()
        .to_owned();
    let numbers = numbers(&text).filter(|_| said.ok);
    numbers
        .map(|numbers| Version {
            text: text.clone(),
            numbers,
        })
        .ok_or_else(|| format!("{} does not tell its version", program.display()))
}

/// The first word of a line that begins with three numbers.
fn numbers(line: &str) -> Option<[u64; 3]> {
    line.split_whitespace().find_map(|word| {
        let mut parts = word.splitn(3, '.');
        let mut next = || {
            let part = parts.next()?;
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            part.get(..digits)?.parse().ok()
        };
        Some([next()?, next()?, next()?])
    })
}

pub(super) fn plugin(project: &ProjectContext) -> Check {
    const ID: &str = "plugin";
    let dir = plugin_dir(project);
    if plugin_spec(project).is_current(&dir) {
        return good(ID, "the Claude plugin is of this program");
    }
    if exists(&dir) {
        return note(
            ID,
            "the Claude plugin is of another program or version",
            "`ctxrelay claude` renews it; restart a Claude that runs",
        );
    }
    note(
        ID,
        "the Claude plugin is not written yet",
        "`ctxrelay claude` writes it",
    )
}

/// The plugin for a plain `claude`, where it was installed.
pub(super) fn installed_plugin(project: &ProjectContext) -> Option<Check> {
    const ID: &str = "claude-plugin";
    let market = market(project);
    if !market.is_there() {
        return None;
    }
    Some(match market.is_current() {
        true => good(ID, "the plugin for a plain `claude` is of this program"),
        false => note(
            ID,
            "the plugin for a plain `claude` is of another program, version or registry",
            "`ctxrelay claude-plugin install` renews it; restart a Claude that runs",
        ),
    })
}

pub(super) fn tmux(project: &ProjectContext) -> Check {
    const ID: &str = "tmux";
    let Some(program) = find_program("tmux") else {
        return note(
            ID,
            "tmux is not found: `ctxrelay pair` prints its commands instead",
            "install tmux",
        );
    };
    match capture(&program, &["-V".into()], &project.dirs.root, VERSION_WAIT) {
        Ok(said) => good(ID, said.stdout.trim().to_owned()),
        Err(why) => note(ID, why, "`ctxrelay pair` needs it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::status::AppServerStatus;

    #[test]
    fn a_version_is_found_in_what_the_agents_say() {
        assert_eq!(numbers("codex-cli 0.169.0"), Some([0, 169, 0]));
        assert_eq!(numbers("2.1.330 (Claude Code)"), Some([2, 1, 330]));
        assert_eq!(numbers("0.170.0-alpha.1"), Some([0, 170, 0]));
        assert_eq!(numbers("no version"), None);
        assert!([2, 1, 79] < CLAUDE_MIN && [2, 1, 330] > CLAUDE_MIN);
    }

    #[test]
    fn what_is_to_be_known_of_codex_is_said() {
        let of = |text: &str, status: Option<&Status>| {
            let version = Version {
                text: text.to_owned(),
                numbers: numbers(text).unwrap(),
            };
            let check = of_codex(&version, status);
            assert!(check.ok);
            (check.message, check.hint)
        };
        let mut status = Status::default();
        let tried = "codex-cli 0.169.0";
        assert_eq!(of(tried, Some(&status)), (tried.to_owned(), String::new()));
        let (newer, hint) = of("codex-cli 0.170.0", None);
        assert!(newer.ends_with("newer than what this was built against"));
        let [major, minor, patch] = CODEX_TRIED;
        assert!(hint.ends_with(&format!("codex@{major}.{minor}.{patch}")));
        // It was upgraded below the daemon.
        status.agents.codex.app_server = Some(AppServerStatus {
            pid: 7,
            version: "0.168.0".to_owned(),
        });
        let (message, hint) = of(tried, Some(&status));
        assert!(message.ends_with("\nthe app-server that runs is 0.168.0"));
        assert!(hint.contains("ctxrelay kill"), "{hint}");
        status.agents.codex.app_server = None;
        status.notices = vec!["a full disk".to_owned(), "it ended at its start".to_owned()];
        status.notice_keys = vec![NoticeKey::Disk, NoticeKey::Codex];
        let (message, hint) = of(tried, Some(&status));
        assert!(message.ends_with("\nthe daemon cannot use it: it ended at its start"));
        assert!(hint.contains("codex mcp list"), "{hint}");
        // Another one may be the reason.
        let (_, hint) = of("codex-cli 0.168.0", Some(&status));
        assert_eq!(hint, CODEX_TRIED_HINT);
    }
}
