//! `ctxrelay pair`: both agents beside the deck, in tmux panes.

mod attached;
mod goes_on;
mod not_in_tmux;

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Duration;

use self::attached::{ATTACHED_ELSEWHERE, are_both_attached};
use self::goes_on::{goes_on, opens_claude};
use self::not_in_tmux::left_out;
use crate::cli::agents::agent_place::AgentPlace;
use crate::cli::agents::launch::{Launch, capture, missing_claude, missing_codex, show_dry_run};
use crate::cli::agents::own_pane::{RUNTIME_SESSION, own, pane, passed_on};
use crate::cli::agents::pair_tmux::{
    PANES_FORMAT, PairPane, PairPart, beside, is_ours, panes, server, socket, unmark,
};
use crate::cli::connection::connect::wait_for;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::screen::deck;
use crate::cli::settings::{environment, find_program};
use crate::cli::text::shell::quoted;
use crate::core::id::RuntimeSession;
use crate::host::ProjectContext;
use crate::store::operator_socket;
use crate::wire::control::ProgramCode;

/// How long one tmux command may take.
const TMUX_WAIT: Duration = Duration::from_secs(10);

/// Has tmux print what it is asked for as it is: in a locale without UTF-8 every other letter of a
/// path would be `_`.
const WHOLE: &str = "-u";

/// Arguments of `pair`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay pair")]
pub struct Args {
    /// Print the commands and start nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Begin another conversation with Claude; without, the last one of this pair goes on
    #[arg(long)]
    pub new: bool,
}

pub fn run(context: &CliContext, args: &Args) -> CliOutcome {
    let project = &context.project;
    let Some(tmux) = find_program("tmux") else {
        return by_hand(context, args);
    };
    let outer = environment("TMUX").filter(|tmux| !tmux.is_empty());
    if is_ours(project, outer.as_deref()) {
        return Err(Failure::usage(
            ProgramCode::InThePair,
            "this is the pair's own tmux already",
            "start one agent with `ctxrelay claude` or `ctxrelay codex`",
        ));
    }
    let inside = outer.is_some();
    let place = AgentPlace::of_pair(inside);
    let is_open = !inside && has_session(project, &tmux)?;
    if is_open {
        is_of_this_pair(project, &tmux, environment)?;
    }
    let (mut first, mut last) = match (inside, is_open) {
        (true, _) => {
            let missing = missing_panes(project, &tmux, place, true, args.dry_run)?;
            (missing, None)
        }
        // A second `pair` attaches, and opens what has ended meanwhile.
        (false, true) => {
            let missing = missing_panes(project, &tmux, place, false, false)?;
            (missing, Some(attach(project)))
        }
        (false, false) => (commands(project, place, environment), Some(attach(project))),
    };
    let opens_agent = |words: &Vec<OsString>| opens_claude(words) || opens_codex(words);
    let opens_agents = first.iter().any(opens_agent);
    // A pane of ours in which an agent has ended is filled again, whatever the daemon knows by now.
    let are_elsewhere =
        opens_agents && !is_open && !args.new && wait_for(are_both_attached(project))?;
    if are_elsewhere {
        (first, last) = (Vec::new(), None);
    }
    if !args.new {
        goes_on(context, &mut first);
    }
    if args.dry_run {
        if are_elsewhere {
            context.out.note(ATTACHED_ELSEWHERE);
        }
        let commands = first.iter().chain(&last);
        let mut lines: Vec<String> = commands
            .map(|command| {
                let mut words = vec![tmux.clone().into_os_string()];
                words.extend(command.iter().cloned());
                quoted(&words)
            })
            .collect();
        if last.is_none() {
            lines.push(quoted(&own(project, None)));
        }
        return show_dry_run(&context.out, &lines);
    }
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        return Err(Failure::usage(
            ProgramCode::NoTerminal,
            "the panes need a terminal",
            "see the commands with `ctxrelay pair --dry-run`",
        ));
    }
    if are_elsewhere {
        return deck::run_saying(context, Some(ATTACHED_ELSEWHERE.to_owned()));
    }
    // A pane whose program is missing would close before it could be read.
    project.claude_program.find().ok_or_else(missing_claude)?;
    project.codex_program.find().ok_or_else(missing_codex)?;
    if !inside {
        private_folder(&socket(project))?;
    }
    // A server of ours that begins only now begins with our environment.
    let is_there_before = inside || is_open;
    let left_out = (is_there_before && opens_agents)
        .then(|| left_out(project, &tmux, inside, environment))
        .flatten();
    if let Some(left_out) = &left_out {
        context.out.note(left_out);
    }
    for command in &first {
        tmux_run(&tmux, command, &project.dirs.root)?;
    }
    match last {
        Some(attach) => Err(Launch {
            program: tmux,
            args: attach,
            env: Vec::new(),
            cwd: None,
        }
        .exec()),
        // Our own pane becomes the deck, which covers what was said above it.
        None => deck::run_saying(context, left_out),
    }
}

fn opens_codex(words: &[OsString]) -> bool {
    words.last().is_some_and(|last| last == "codex")
}

/// Whether the pair's own server has its session already.
fn has_session(project: &ProjectContext, tmux: &Path) -> Result<bool, Failure> {
    let mut args: Vec<OsString> = server(&socket(project)).into();
    let session = session_name(&project.dirs.root, &project.dirs.instance_id());
    args.extend([
        "has-session".into(),
        "-t".into(),
        format!("={session}").into(),
    ]);
    capture(tmux, &args, &project.dirs.root, TMUX_WAIT)
        .map(|said| said.ok)
        .map_err(failed)
}

/// Refuses where the panes that are open are those of another pair of this project: attaching to them
/// would pass for what was asked.
fn is_of_this_pair(
    project: &ProjectContext,
    tmux: &Path,
    var: impl Fn(&str) -> Option<OsString>,
) -> Result<(), Failure> {
    let session = session_name(&project.dirs.root, &project.dirs.instance_id());
    let mut args = vec![WHOLE.into()];
    args.extend(server(&socket(project)));
    args.extend(["show-environment", "-t", &session, RUNTIME_SESSION].map(OsString::from));
    let said = capture(tmux, &args, &project.dirs.root, TMUX_WAIT).map_err(failed)?;
    // It fails where the variable is not set, which is the pair without a name.
    let theirs = said.stdout.trim_end().split_once('=');
    let theirs = theirs.filter(|_| said.ok).map(|(_, name)| name.to_owned());
    let ours = var(RUNTIME_SESSION).filter(|name| !name.is_empty());
    let ours = ours.map(|name| name.to_string_lossy().into_owned());
    let default = || RuntimeSession::default().to_string();
    let (theirs, ours) = (theirs.unwrap_or_else(default), ours.unwrap_or_else(default));
    if theirs == ours {
        return Ok(());
    }
    Err(Failure::usage(
        ProgramCode::OtherPair,
        format!("the panes of this project are open, and are those of the pair {theirs}"),
        format!(
            "start a Claude of the pair {ours} in a terminal of its own: `{RUNTIME_SESSION}={ours} \
             ctxrelay claude`"
        ),
    ))
}

/// The commands that open the panes of the pair that are not there (any more), and put the program
/// again into those in which it has ended, to be run in their order. `inside`: in a tmux of the user's,
/// where our own pane becomes the deck and an agent may be in any window.
fn missing_panes(
    project: &ProjectContext,
    tmux: &Path,
    place: AgentPlace,
    inside: bool,
    dry_run: bool,
) -> Result<Vec<Vec<OsString>>, Failure> {
    let root = &project.dirs.root;
    let session = session_name(root, &project.dirs.instance_id());
    let list: &[&str] = match inside {
        true => &["list-panes", "-a", "-F", PANES_FORMAT],
        false => &["list-panes", "-s", "-t", &session, "-F", PANES_FORMAT],
    };
    let list: Vec<OsString> = list.iter().map(OsString::from).collect();
    let mut asked = vec![WHOLE.into()];
    asked.extend(in_it(project, inside, &list));
    let listed = match tmux_run(tmux, &asked, root) {
        // One that is gone has none; what is only shown needs no server.
        Err(_) if dry_run => String::new(),
        listed => listed?,
    };
    // The session of a server of ours is one pair's.
    let pair = inside.then_some(&project.runtime_session);
    let mut there = panes(&listed, root, pair);
    if inside {
        there.retain(|pane| pane.part != PairPart::Deck);
        // Where tmux has named none, it is the current one.
        let id = environment("TMUX_PANE").unwrap_or_default();
        there.push(PairPane {
            part: PairPart::Deck,
            id: id.to_string_lossy().into_owned(),
            has_ended: false,
        });
    }
    let env = passed_on(environment);
    Ok(opened(project, &env, place, inside, there))
}

/// The arguments of `tmux` for a command to the pair's own server, or to the user's.
fn in_it(project: &ProjectContext, inside: bool, command: &[OsString]) -> Vec<OsString> {
    let mut words: Vec<OsString> = match inside {
        true => Vec::new(),
        false => server(&socket(project)).into(),
    };
    words.extend(command.iter().cloned());
    words
}

/// As [`missing_panes`], beside the panes that are there. One that is not open yet is named by the
/// corner that it comes to.
fn opened(
    project: &ProjectContext,
    env: &[OsString],
    place: AgentPlace,
    inside: bool,
    mut there: Vec<PairPane>,
) -> Vec<Vec<OsString>> {
    let session = session_name(&project.dirs.root, &project.dirs.instance_id());
    let home = (!inside).then(|| format!("{session}:"));
    let mut commands = Vec::new();
    for part in PairPart::ALL {
        let (verb, target) = match there.iter().find(|pane| pane.part == part) {
            None => beside(part, place, &there, home.as_deref()),
            Some(pane) if pane.has_ended => {
                // Before it runs again, which may mark it again.
                commands.push(in_it(project, inside, &unmark(&pane.id)));
                (vec!["respawn-pane", "-k"], Some(&*pane.id))
            }
            Some(_) => continue,
        };
        let command = pane(project, env, &verb, target, part);
        commands.push(in_it(project, inside, &command));
        let id = match (inside, place) {
            (true, AgentPlace::Below) => "{bottom}".to_owned(),
            (true, _) => "{right}".to_owned(),
            (false, _) => format!("{session}:.{}", part.corner(place)),
        };
        if there.iter().all(|pane| pane.part != part) {
            there.push(PairPane {
                part,
                id,
                has_ended: false,
            });
        }
    }
    commands
}

/// Nobody else may connect to a server in this folder.
fn private_folder(socket: &Path) -> Result<(), Failure> {
    operator_socket::make_folder(socket).map_err(|error| {
        Failure::state(
            ProgramCode::Unwritable,
            format!("no folder for {}: {error}", socket.display()),
            "make it yours alone, or remove it",
        )
    })
}

fn failed(why: String) -> Failure {
    Failure::unavailable(
        ProgramCode::TmuxFailed,
        why,
        "run the commands by yourself: `ctxrelay pair --dry-run`",
    )
}

/// Returns what it printed.
fn tmux_run(tmux: &Path, args: &[OsString], root: &Path) -> Result<String, Failure> {
    let said = capture(tmux, args, root, TMUX_WAIT).map_err(failed)?;
    if said.ok {
        return Ok(said.stdout);
    }
    let why = said.stderr.lines().next().unwrap_or("no reason given");
    Err(failed(format!("`tmux {}` failed: {why}", quoted(args))))
}

/// What to type, where there is no tmux.
fn by_hand(context: &CliContext, args: &Args) -> CliOutcome {
    context
        .out
        .note("tmux is not installed; run these in three terminals:");
    let mut commands =
        [None, Some("claude"), Some("codex")].map(|verb| own(&context.project, verb));
    if !args.new {
        goes_on(context, &mut commands);
    }
    let lines = commands.map(|words| quoted(&words));
    show_dry_run(&context.out, &lines)
}

/// The tmux commands that open the pair's session with its deck and both agents.
fn commands(
    project: &ProjectContext,
    place: AgentPlace,
    var: impl Fn(&str) -> Option<OsString>,
) -> Vec<Vec<OsString>> {
    let session = session_name(&project.dirs.root, &project.dirs.instance_id());
    let env = passed_on(var);
    let new = ["new-session", "-d", "-s", &session];
    let mut first = pane(project, &env, &new, None, PairPart::Deck);
    // Nobody is attached to it before its panes are there: with the user's `destroy-unattached` it
    // would be gone by then.
    first.extend(
        [
            ";",
            "set-option",
            "-t",
            &session,
            "destroy-unattached",
            "off",
        ]
        .map(OsString::from),
    );
    let mut commands = vec![in_it(project, false, &first)];
    let deck = PairPane {
        part: PairPart::Deck,
        id: format!("{session}:"),
        has_ended: false,
    };
    commands.extend(opened(project, &env, place, false, vec![deck]));
    commands
}

/// The command that shows the pair's session here.
fn attach(project: &ProjectContext) -> Vec<OsString> {
    let session = session_name(&project.dirs.root, &project.dirs.instance_id());
    let mut words: Vec<OsString> = server(&socket(project)).into();
    words.extend(["attach-session", "-t", &session].map(OsString::from));
    words
}

/// A name that tmux takes: it changes `.` and `:` by itself and would then not find it.
fn session_name(root: &Path, instance_id: &str) -> String {
    let name = root
        .file_name()
        .unwrap_or(OsStr::new("project"))
        .to_string_lossy();
    let plain: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
                c
            } else {
                '-'
            }
        })
        .take(40)
        .collect();
    let id = instance_id.strip_prefix("ctx_").unwrap_or(instance_id);
    format!("ctxrelay-{plain}-{}", id.get(..4).unwrap_or(id))
}

#[cfg(test)]
mod tests;
