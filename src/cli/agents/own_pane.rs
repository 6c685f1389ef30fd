//! [`pane`]: our own program in a tmux pane; [`beside_us`]: an agent in one.

use std::ffi::OsString;

use crate::cli::agents::agent_place::AgentPlace;
use crate::cli::agents::pair_tmux::{PairPart, as_format, as_word, kept, opening};
use crate::core::agent::Agent;
use crate::host::ProjectContext;

/// Names the pair, for our programs.
pub(in crate::cli) const RUNTIME_SESSION: &str = "CONTEXTRELAY_RUNTIME_SESSION";

/// Variables that a pane needs too: a tmux server passes its own environment on, not ours. None
/// of them is a secret: everybody on the machine can read a command line.
const PASSED_ON: [&str; 17] = [
    "CONTEXTRELAY_STATE_DIR",
    "CONTEXTRELAY_REGISTRY_DIR",
    "XDG_STATE_HOME",
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
    "CODEX_HOME",
    "CLAUDE_CONFIG_DIR",
    "CODEX_WS_PORT",
    "CODEX_PROXY_PORT",
    "CONTEXTRELAY_CONTROL_PORT",
    "CONTEXTRELAY_PORT_BASE",
    RUNTIME_SESSION,
    "CONTEXTRELAY_MODE",
    "CONTEXTRELAY_CODEX_BIN",
    "CONTEXTRELAY_CLAUDE_BIN",
    "CONTEXTRELAY_LOG",
    "NO_COLOR",
];

/// Our own program in this project.
pub(in crate::cli) fn own(project: &ProjectContext, verb: Option<&str>) -> Vec<OsString> {
    let mut words = vec![
        project.own_program.clone().into_os_string(),
        "--project".into(),
        project.dirs.root.clone().into_os_string(),
    ];
    words.extend(verb.map(OsString::from));
    words
}

/// The arguments by which a pane gets our variables.
pub(in crate::cli) fn passed_on(var: impl Fn(&str) -> Option<OsString>) -> Vec<OsString> {
    PASSED_ON
        .into_iter()
        .filter_map(|name| {
            var(name)
                .filter(|value| !value.is_empty())
                .map(|value| (name, value))
        })
        .flat_map(|(name, value)| {
            let mut pair = OsString::from(format!("{name}="));
            pair.push(value);
            ["-e".into(), pair]
        })
        .collect()
}

/// A tmux command that opens a pane with our program in it.
pub(in crate::cli) fn pane(
    project: &ProjectContext,
    env: &[OsString],
    verb: &[&str],
    target: Option<&str>,
    part: PairPart,
) -> Vec<OsString> {
    let mut words: Vec<OsString> = verb.iter().map(OsString::from).collect();
    words.extend(
        target
            .into_iter()
            .flat_map(|target| ["-t".into(), target.into()]),
    );
    words.extend(["-c".into(), as_format(&project.dirs.root)]);
    words.extend(env.iter().cloned());
    // Several words are a program and its arguments; tmux gives them to no shell.
    let command = own(project, part.verb());
    words.extend(kept(part, &project.runtime_session, command));
    words.into_iter().map(as_word).collect()
}

/// The arguments of `tmux` that open this agent beside our own pane.
pub(in crate::cli) fn beside_us(
    project: &ProjectContext,
    agent: Agent,
    place: AgentPlace,
    var: impl Fn(&str) -> Option<OsString>,
) -> Vec<OsString> {
    let part = match agent {
        Agent::Claude => PairPart::Claude,
        Agent::Codex => PairPart::Codex,
    };
    let verb = opening(place, agent.as_str());
    pane(project, &passed_on(var), &verb, None, part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::settings::{Named, resolve};

    #[test]
    fn an_agent_that_is_started_from_the_deck_has_the_variables_of_the_pair() {
        let dir = tempfile::tempdir().unwrap();
        let project = resolve(Some(dir.path()), Named::Exactly, |name| {
            (name == "HOME").then(|| "/tmp".into())
        })
        .unwrap();
        let env = |name: &str| {
            let is_set = name.starts_with("CONTEXTRELAY_") || name.starts_with("XDG_");
            is_set.then(|| "/elsewhere".into())
        };
        let words = beside_us(&project, Agent::Codex, AgentPlace::Right, env);
        let place = |word: &str| words.iter().position(|it| it == word);
        let state = place("CONTEXTRELAY_STATE_DIR=/elsewhere").unwrap();
        assert_eq!(words[state - 1], "-e");
        for name in [
            "CONTEXTRELAY_REGISTRY_DIR",
            "XDG_STATE_HOME",
            "XDG_DATA_HOME",
        ] {
            assert!(place(&format!("{name}=/elsewhere")).is_some(), "{name}");
        }
        // Of the pane's, before its program.
        assert!(state < place("/bin/sh").unwrap(), "{words:?}");
        assert!(words.ends_with(&["codex".into()]));
    }
}
