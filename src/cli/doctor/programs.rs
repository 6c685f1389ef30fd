//! The checks of the programs that are not ours: both agents, the plugin in one of them, tmux.

use std::path::Path;
use std::time::Duration;

use super::check::{Check, bad, good, note};
use crate::cli::claude::{market, plugin_dir, plugin_spec};
use crate::cli::codex_mcp::{INSTALL_HINT, own_entry, told_bound};
use crate::cli::launch::capture;
use crate::cli::settings::find_program;
use crate::host::ProjectContext;
use crate::store::config;
use crate::store::dirs::exists;

/// How long `codex --version` and the like may take.
const VERSION_WAIT: Duration = Duration::from_secs(5);

/// The oldest Claude Code whose plugins have monitors.
const CLAUDE_MIN: [u64; 3] = [2, 1, 80];

/// The Codex that this version was built against.
const CODEX_TRIED: [u64; 3] = [0, 169, 0];

pub(super) fn codex(setting: &ProjectContext) -> Check {
    let Some(program) = setting.codex_program.find() else {
        return note(
            "codex",
            "the `codex` program is not found; everything else works",
            "npm install -g @openai/codex, or name it with CONTEXTRELAY_CODEX_BIN",
        );
    };
    match version(setting, &program) {
        Ok(version) if version.numbers < CODEX_TRIED => note(
            "codex",
            format!("{}, older than what this was built against", version.text),
            "update Codex if it does not answer",
        ),
        Ok(version) => good("codex", version.text),
        Err(why) => bad("codex", why, "run `codex --version` by yourself"),
    }
}

/// The entry for a plain `codex`, where an earlier version bound it to one project, or it starts
/// another program.
pub(super) fn codex_mcp(setting: &ProjectContext) -> Option<Check> {
    const ID: &str = "codex-mcp";
    let program = setting.codex_program.find()?;
    let list = ["mcp", "list", "--json"].map(Into::into);
    let said = capture(&program, &list, &setting.dirs.root, VERSION_WAIT).ok()?;
    let entry = own_entry(&said.stdout).filter(|_| said.ok)?;
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
    let is_own = |program: &String| Path::new(program) == setting.own_program;
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

pub(super) fn claude(setting: &ProjectContext) -> Check {
    let Some(program) = setting.claude_program.find() else {
        let loaded = config::load(&setting.dirs, &setting.user_dirs);
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
    match version(setting, &program) {
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

fn version(setting: &ProjectContext, program: &Path) -> Result<Version, String> {
    let said = capture(
        program,
        &["--version".into()],
        &setting.dirs.root,
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

pub(super) fn plugin(setting: &ProjectContext) -> Check {
    const ID: &str = "plugin";
    let dir = plugin_dir(setting);
    if plugin_spec(setting).is_current(&dir) {
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
pub(super) fn installed_plugin(setting: &ProjectContext) -> Option<Check> {
    const ID: &str = "claude-plugin";
    let market = market(setting);
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

pub(super) fn tmux(setting: &ProjectContext) -> Check {
    const ID: &str = "tmux";
    let Some(program) = find_program("tmux") else {
        return note(
            ID,
            "tmux is not found: `ctxrelay pair` prints its commands instead",
            "install tmux",
        );
    };
    match capture(&program, &["-V".into()], &setting.dirs.root, VERSION_WAIT) {
        Ok(said) => good(ID, said.stdout.trim().to_owned()),
        Err(why) => note(ID, why, "`ctxrelay pair` needs it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_the_agents_say() {
        assert_eq!(numbers("codex-cli 0.169.0"), Some([0, 169, 0]));
        assert_eq!(numbers("2.1.330 (Claude Code)"), Some([2, 1, 330]));
        assert_eq!(numbers("0.170.0-alpha.1"), Some([0, 170, 0]));
        assert_eq!(numbers("no version"), None);
        assert!([2, 1, 79] < CLAUDE_MIN && [2, 1, 330] > CLAUDE_MIN);
    }
}
