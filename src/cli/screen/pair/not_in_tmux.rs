//! The agents' variables that are set in this terminal and not in the tmux server whose panes the
//! agents get. They can be secrets, so no command line of ours contains their values.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use super::{TMUX_WAIT, WHOLE, in_it, session_name};
use crate::cli::agents::launch::capture;
use crate::host::ProjectContext;

/// By these an agent signs in, or reaches its model: without them it asks, or asks somebody else.
const OF_AGENTS: [&str; 11] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_MODEL",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "CODEX_API_KEY",
    "HTTPS_PROXY",
];

/// What is said where panes are opened in a server that lacks some of them. `inside`: it is the
/// user's own. A server that does not answer lacks nothing that is known.
pub(super) fn left_out(
    project: &ProjectContext,
    tmux: &Path,
    inside: bool,
    var: impl Fn(&str) -> Option<OsString>,
) -> Option<String> {
    let session = session_name(&project.dirs.root, &project.dirs.instance_id());
    let ask = |which: &[&str]| {
        let words: Vec<OsString> = ["show-environment"]
            .iter()
            .chain(which)
            .map(OsString::from)
            .collect();
        let mut asked = vec![WHOLE.into()];
        asked.extend(in_it(project, inside, &words));
        let said = capture(tmux, &asked, &project.dirs.root, TMUX_WAIT).ok()?;
        said.ok.then_some(said.stdout)
    };
    let global = ask(&["-g"])?;
    let own = match inside {
        true => ask(&[]),
        false => ask(&["-t", &session]),
    };
    let missing = missing(&global, &own.unwrap_or_default(), var);
    // The pair's own server is found by its socket alone.
    let words = in_it(project, inside, &["set-environment".into()]);
    let program = std::iter::once("tmux".into()).chain(words);
    let set = crate::cli::text::shell::quoted(&program.collect::<Vec<OsString>>());
    said(&missing, &set)
}

/// Those that are set here, and neither by the session nor by its server.
fn missing(global: &str, own: &str, var: impl Fn(&str) -> Option<OsString>) -> Vec<&'static str> {
    let is_set = |name: &&str| var(name).is_some_and(|value| !value.is_empty());
    let mut there: BTreeSet<&str> = BTreeSet::new();
    for line in global.lines().chain(own.lines()) {
        // One that the session takes away stands there as `-NAME`.
        if let Some(name) = line.strip_prefix('-') {
            there.remove(name);
        } else if let Some((name, _)) = line.split_once('=') {
            there.insert(name);
        }
    }
    let missing = OF_AGENTS.into_iter().filter(is_set);
    missing.filter(|name| !there.contains(name)).collect()
}

fn said(missing: &[&str], set: &str) -> Option<String> {
    let first = missing.first()?;
    let names = match missing {
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
        [] => return None,
    };
    let (are, them) = match missing.len() {
        1 => ("is", "it"),
        _ => ("are", "each of them"),
    };
    Some(format!(
        "{names} {are} set here and not in tmux, whose panes the agents start in. Give {them} to \
         tmux with `{set} {first} \"${first}\"`, end the agents, and run `ctxrelay pair` again"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tmux_has_and_what_is_not_set_here_is_not_missed() {
        let set = |name: &str| match name {
            "ANTHROPIC_API_KEY" | "OPENAI_API_KEY" | "ANTHROPIC_BASE_URL" => Some("secret".into()),
            "HTTPS_PROXY" => Some("".into()),
            _ => None,
        };
        let global = "PATH=/bin\nOPENAI_API_KEY=other\nANTHROPIC_BASE_URL=x\n";
        // The session takes one away that its server has.
        let missing = missing(global, "-ANTHROPIC_BASE_URL\n", set);
        assert_eq!(missing, ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"]);
        let told = said(&missing, "tmux set-environment").unwrap_or_default();
        assert!(told.starts_with("ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL are set here"));
        let how = "`tmux set-environment ANTHROPIC_API_KEY \"$ANTHROPIC_API_KEY\"`";
        assert!(told.contains(how) && !told.contains("secret"), "{told}");
        assert_eq!(said(&[], "tmux"), None);
    }
}
