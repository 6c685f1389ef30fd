//! The pair's own tmux server, and what keeps a pane open after its program has ended.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use crate::cli::agents::agent_place::AgentPlace;
use crate::core::id::RuntimeSession;
use crate::host::ProjectContext;
use crate::store::operator_socket;

/// What a pane is marked with in its tmux when its program has ended and it only waits to be closed.
const ENDED: &str = "@ctxrelay-ended";

/// Runs the words behind its name and seconds. When they fail, or end within these seconds, the pane
/// stays with what they said until somebody presses Enter, or a further `pair` puts the program into it
/// again. The trap keeps Ctrl-C from ending the shell first; what it runs gets the signal as always.
const KEEP: &str = "name=$1; least=$2; shift 2; began=$(date +%s); trap : INT; \"$@\"; code=$?; \
    [ $code -eq 0 ] && [ $(($(date +%s) - began)) -ge $least ] && exit 0; \
    stty sane 2>/dev/null; \
    [ -z \"$TMUX_PANE\" ] || \
    tmux -S \"${TMUX%%,*}\" set-option -p -t \"$TMUX_PANE\" @ctxrelay-ended 1 2>/dev/null; \
    printf '\\n%s has ended (exit code %s): Enter closes this pane\\n' \"$name\" \"$code\"; \
    read -r line; exit $code";

/// A command for a pane that stays when the command has failed, or an agent ends at once: nobody has
/// seen what it said. The deck ends well only when it is left.
pub fn kept(part: PairPart, pair: &RuntimeSession, command: Vec<OsString>) -> Vec<OsString> {
    let of_pair = of_pair(pair);
    let (name, least) = part.verb().map_or(("deck", "0"), |agent| (agent, "10"));
    let shell = ["/bin/sh", "-c", KEEP, &of_pair, name, least];
    shell
        .into_iter()
        .map(OsString::from)
        .chain(command)
        .collect()
}

/// What the shell of a pane is called: by it a pane of this pair is known among those of others, for
/// tmux does not tell the variables that a pane was given.
fn of_pair(pair: &RuntimeSession) -> String {
    if *pair == RuntimeSession::default() {
        return "ctxrelay".to_owned();
    }
    format!("ctxrelay:{pair}")
}

/// The socket of the pair's tmux server: in a folder that is private, beside the operator's, and
/// not one that a tmux of the user's would look for.
pub fn socket(project: &ProjectContext) -> PathBuf {
    let operator = operator_socket::place(&project.user_dirs, &project.dirs.instance_id());
    operator.with_extension("tmux")
}

/// The arguments before a command for that server. A configuration of the user's counts as always.
pub fn server(socket: &Path) -> [OsString; 2] {
    ["-S".into(), socket.as_os_str().to_owned()]
}

/// A folder as an argument that tmux takes for one of its formats, which can run commands. A `#` stands
/// there twice, but before `[`, where tmux leaves it as it is.
pub fn as_format(folder: &Path) -> OsString {
    let name = folder.as_os_str().as_bytes();
    let mut format = Vec::with_capacity(name.len());
    for (at, byte) in name.iter().enumerate() {
        format.push(*byte);
        let next = name[at..].iter().find(|next| **next != b'#');
        if *byte == b'#' && next != Some(&b'[') {
            format.push(b'#');
        }
    }
    OsString::from_vec(format)
}

/// A word as an argument of `tmux`, which takes a `;` at its end for the end of a command.
pub fn as_word(word: OsString) -> OsString {
    let mut word = word.into_vec();
    if word.last() == Some(&b';') {
        word.insert(word.len() - 1, b'\\');
    }
    OsString::from_vec(word)
}

/// A part of the pair that has a pane of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairPart {
    Deck,
    Claude,
    Codex,
}

impl PairPart {
    /// In the order in which they are opened.
    pub const ALL: [Self; 3] = [Self::Deck, Self::Claude, Self::Codex];

    /// Where its pane is in a window with the others, as tmux names it.
    pub fn corner(self, place: AgentPlace) -> &'static str {
        match (self, place) {
            (Self::Deck, _) => "{top-left}",
            (Self::Claude, AgentPlace::Below) => "{bottom-left}",
            (Self::Claude, _) => "{top-right}",
            (Self::Codex, _) => "{bottom-right}",
        }
    }

    fn other_agent(self) -> Option<Self> {
        match self {
            Self::Deck => None,
            Self::Claude => Some(Self::Codex),
            Self::Codex => Some(Self::Claude),
        }
    }

    /// What is typed behind `ctxrelay` for it.
    pub fn verb(self) -> Option<&'static str> {
        match self {
            Self::Deck => None,
            Self::Claude => Some("claude"),
            Self::Codex => Some("codex"),
        }
    }
}

/// Asks for a line for each pane of a session: its id, whether it is marked, or dead and only there
/// because of the user's `remain-on-exit`, and what it was started with.
pub const PANES_FORMAT: &str =
    "#{pane_id} #{?#{||:#{@ctxrelay-ended},#{pane_dead}},ended,runs} #{pane_start_command}";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairPane {
    pub part: PairPart,
    /// Its name in tmux.
    pub id: String,
    /// Its program has ended, and it waits to be closed.
    pub has_ended: bool,
}

/// The arguments that take the mark off a pane.
pub fn unmark(id: &str) -> [OsString; 5] {
    ["set-option", "-pu", "-t", id, ENDED].map(OsString::from)
}

/// The panes of a pair among those that are there: of this one, where others may be among them.
pub fn panes(listed: &str, root: &Path, pair: Option<&RuntimeSession>) -> Vec<PairPane> {
    // Each tmux quotes in its own way.
    let bare = |text: &str| text.replace(['"', '\'', '\\'], "");
    let root = bare(&format!("--project {}", root.display()));
    let of_pair = pair.map(|pair| bare(&of_pair(pair)));
    let is_its = |command: &str, verb: &str| {
        let its = of_pair.as_ref().map(|name| format!(" {name} {verb} "));
        its.is_none_or(|words| command.contains(&words))
    };
    let part_of = |command: &str| {
        PairPart::ALL.into_iter().find(|part| match part.verb() {
            None => command.ends_with(&root),
            // Behind it stands at most the conversation that goes on.
            Some(verb) => {
                let words = format!("{root} {verb}");
                let behind = command.rsplit_once(&words).map(|(_, behind)| behind);
                let is_end = |behind: &str| behind.is_empty() || behind.starts_with(" --resume ");
                behind.is_some_and(is_end) && is_its(command, verb)
            }
        })
    };
    let panes = listed.lines().filter_map(|line| {
        let (id, rest) = line.split_once(' ')?;
        let (state, command) = rest.split_once(' ')?;
        Some(PairPane {
            part: part_of(&bare(command))?,
            id: id.to_owned(),
            has_ended: state == "ended",
        })
    });
    panes.collect()
}

/// The words of a `tmux` command that opens this agent in the deck's room, or in a window.
pub fn opening(place: AgentPlace, agent: &str) -> Vec<&str> {
    match place {
        AgentPlace::Right => vec!["split-window", "-h", "-d"],
        AgentPlace::Below => vec!["split-window", "-v", "-d"],
        AgentPlace::Window => vec!["new-window", "-d", "-n", agent],
    }
}

/// The words of a `tmux` command that opens the pane of a part beside those that are there, up to
/// its target's name, and that name: the agents together, at the right of the deck or below it, or
/// each in a window. `home`: the pair's own session; without it the current one.
pub fn beside<'a>(
    part: PairPart,
    place: AgentPlace,
    there: &'a [PairPane],
    home: Option<&'a str>,
) -> (Vec<&'static str>, Option<&'a str>) {
    let of = |wanted| there.iter().find(|pane| pane.part == wanted);
    let of = |wanted| of(wanted).map(|pane| pane.id.as_str());
    let (Some(name), other) = (part.verb(), part.other_agent()) else {
        return match place {
            AgentPlace::Right => (vec!["split-window", "-h", "-b", "-f"], home),
            AgentPlace::Below => (vec!["split-window", "-v", "-b", "-f"], home),
            AgentPlace::Window => (vec!["new-window", "-n", "deck"], home),
        };
    };
    if place == AgentPlace::Window {
        return (opening(place, name), home);
    }
    let Some(other) = other.and_then(of) else {
        return (opening(place, name), of(PairPart::Deck).or(home));
    };
    // They share what is theirs the other way round, Claude first.
    let mut words = match place {
        AgentPlace::Below => vec!["split-window", "-h"],
        _ => vec!["split-window", "-v"],
    };
    words.extend((part == PairPart::Claude).then_some("-b"));
    words.push("-d");
    (words, Some(other))
}

/// Whether `TMUX` names this server: `SOCKET,PROCESS,SESSION`.
pub fn is_ours(project: &ProjectContext, tmux: Option<&OsStr>) -> bool {
    let socket = socket(project);
    tmux.and_then(|tmux| tmux.as_bytes().strip_prefix(socket.as_os_str().as_bytes()))
        .is_some_and(|rest| rest.first() == Some(&b','))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::text::shell::quoted;

    #[test]
    fn a_pane_of_another_pair_is_known_by_its_shell() {
        let [default, two] = [
            RuntimeSession::default(),
            RuntimeSession::new("two".to_owned()),
        ];
        let own = ["/x/ctxrelay", "--project", "/p", "claude"].map(OsString::from);
        let listed = |pair: &RuntimeSession| {
            let words = kept(PairPart::Claude, pair, own.to_vec());
            format!("%1 runs {}", quoted(&words))
        };
        let found = |of, pair| panes(&listed(of), Path::new("/p"), pair).len();
        let going_on = format!("{} --resume a-b", listed(&default));
        assert_eq!(panes(&going_on, Path::new("/p"), Some(&default)).len(), 1);
        for (of, other) in [(&default, &two), (&two, &default)] {
            assert_eq!(found(of, Some(of)), 1, "{of}");
            assert_eq!(found(of, Some(other)), 0, "{of}");
            assert_eq!(found(of, None), 1, "{of}");
        }
    }
}
