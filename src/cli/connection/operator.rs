//! [`ask`]: one command of the operator, from the operator's own terminal.
//!
//! The daemon checks the caller again (`SO_PEERCRED` on the socket) and would refuse mostly the
//! same; but a refusal here tells the person why. ADVISORY by itself: a process of the same user
//! can remove these variables.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::Path;

use rustix::process::{getpgid, getpgrp, getppid, getsid};
use rustix::termios::tcgetpgrp;

use crate::adapters::operator_check::{self, NotOperator};
use crate::cli::connection::connect::{self, Live};
use crate::cli::context::CliContext;
use crate::cli::exit::Failure;
use crate::core::agent::is_agents_variable;
use crate::host::ProjectContext;
use crate::store::sentinel;
use crate::wire::control::{Command, ProgramCode, RefusalCode, Reply};

/// Why this process is not the operator's, if it is not.
pub fn refusal(
    mut variables: impl Iterator<Item = (OsString, OsString)>,
    has_terminal: bool,
) -> Option<Failure> {
    let refuse = |why: String| {
        Failure::refused(
            RefusalCode::OperatorOnly,
            why,
            "use the deck, or run the command yourself in a terminal of your own",
        )
    };
    let agent = variables.find(|(name, value)| {
        is_agents_variable(name.as_encoded_bytes(), value.as_encoded_bytes())
    });
    if let Some((name, _)) = agent {
        return Some(refuse(format!(
            "only the operator may do this, and {} says that this shell is an agent's",
            name.to_string_lossy()
        )));
    }
    (!has_terminal).then(|| {
        Failure::refused(
            RefusalCode::OperatorOnly,
            "only the operator may do this, and what this command reads is no terminal",
            "run it yourself in a terminal of your own, in the foreground and with nothing piped \
             or redirected into it; what it prints may go into a pipe or a file",
        )
    })
}

/// Why this very process is not the operator's, if it is not.
pub fn own_refusal() -> Option<Failure> {
    refusal(std::env::vars_os(), has_terminal())
}

/// Why a deck in this process may not host the daemon, if it may not: it is the operator then, and
/// no socket looks at who it is. That it can be seen and typed into is the deck's own question.
pub fn hosting_refusal(registry: &Path) -> Option<Failure> {
    let below = || {
        let checked = operator_check::check(std::process::id(), &[], registry);
        let why = checked.err().filter(|why| is_in_the_way(*why))?;
        Some(format!(
            "where no daemon runs the deck is the operator, and this process is not: {why}"
        ))
    };
    let why = match refusal(std::env::vars_os(), true) {
        Some(failure) => failure.message,
        None => below()?,
    };
    Some(Failure::refused(
        RefusalCode::OperatorOnly,
        why,
        "open the deck yourself, in a terminal of your own",
    ))
}

/// Whether a start by this process takes the operator's mark away that the project is to stay stopped.
///
/// # Errors
///
/// When there is such a mark, and this process is not the operator's.
pub fn lifts_kill(project: &ProjectContext) -> Result<bool, Failure> {
    match hosting_refusal(&project.user_dirs.registry) {
        None => Ok(true),
        Some(why) if sentinel::is_killed(&project.dirs) => Err(Failure::refused(
            RefusalCode::OperatorOnly,
            format!(
                "the operator stopped this project's daemon: {}",
                why.message
            ),
            "only the operator can start it again",
        )),
        Some(_) => Ok(false),
    }
}

/// Whether a deck may not host because of this. Where the system hides whose child it is, the person
/// has no other way to decide: an agent's own way there is `sudo` or `su` without a password.
fn is_in_the_way(why: NotOperator) -> bool {
    !matches!(why, NotOperator::NoTerminal | NotOperator::HiddenParent)
}

/// As [`own_refusal`], for what is asked before it is done: what cannot be read is not answered.
pub fn asking_refusal() -> Option<Failure> {
    own_refusal().or_else(unseen_question)
}

/// Whether somebody can type here. What is printed may be piped away by a person's own shell: it
/// gives what they run a process group of its own, and the foreground of the terminal, or leads the
/// session itself. What another program or a script starts shares the group of that, wherever its
/// output goes.
fn has_terminal() -> bool {
    let stdin = std::io::stdin();
    let is_run_by_a_shell = || {
        let (group, parent) = (getpgrp(), getppid());
        let is_of_parents_group = || {
            let of_parent = parent.and_then(|parent| getpgid(Some(parent)).ok());
            of_parent == Some(group) && getsid(None).ok() != parent
        };
        tcgetpgrp(&stdin).is_ok_and(|foreground| foreground == group) && !is_of_parents_group()
    };
    stdin.is_terminal() && (std::io::stderr().is_terminal() || is_run_by_a_shell())
}

/// The refusal of a question that its reader may not see.
pub(in crate::cli) fn unseen_question() -> Option<Failure> {
    (!std::io::stderr().is_terminal()).then(|| {
        Failure::refused(
            ProgramCode::NotConfirmed,
            "nothing was changed: this asks before it does anything, and its standard error is \
             redirected, so that the question might not be seen",
            "run it without `2>`; standard output alone may be piped",
        )
    })
}

/// Has the operator type `word`.
///
/// # Errors
///
/// When something else is typed, or the input ends.
pub fn confirm(context: &CliContext, what: &str, word: &str) -> Result<(), Failure> {
    confirm_lines(context, what, &[], word)
}

/// As [`confirm`], with lines below what is asked.
pub(in crate::cli) fn confirm_lines(
    context: &CliContext,
    what: &str,
    below: &[String],
    word: &str,
) -> Result<(), Failure> {
    if let Some(refusal) = unseen_question() {
        return Err(refusal);
    }
    context.out.note(what);
    for line in below {
        context.out.note(line);
    }
    let answer = context.out.ask(&format!(
        "Type `{word}` to go on, anything else to leave it:"
    ))?;
    if answer.as_deref() == Some(word) {
        return Ok(());
    }
    Err(Failure::refused(
        ProgramCode::NotConfirmed,
        "not confirmed: nothing was changed",
        "run the command again",
    ))
}

/// Carries one command of the operator out: checks who asks, has `word` typed, and sends it over
/// the operator's socket. Returns what the reply carries.
///
/// # Errors
///
/// When this is not the operator, nothing was confirmed, no daemon runs, it refuses, or its reply is
/// of another kind.
pub async fn ask<T: TryFrom<Reply, Error = Reply>>(
    context: &CliContext,
    command: Command,
    what: &str,
    word: &str,
) -> Result<T, Failure> {
    let live = live(context, &command).await?;
    confirm(context, what, word)?;
    live.ask_for(command).await
}

/// Refuses anybody but the operator, and has the attempt recorded.
///
/// # Errors
///
/// When this is not the operator.
pub async fn check(context: &CliContext, command: &Command) -> Result<(), Failure> {
    match own_refusal() {
        None => Ok(()),
        Some(failure) => {
            // On the control port, where it is never accepted.
            if let connect::DaemonFound::Live(live) = connect::control(&context.project).await {
                report(&live, command).await;
            }
            Err(failure)
        }
    }
}

/// The operator's connection, for this command.
///
/// # Errors
///
/// When this is not the operator, no daemon runs, or it does not take this process for the operator's.
pub async fn live(context: &CliContext, command: &Command) -> Result<Live, Failure> {
    check(context, command).await?;
    admitted(connection(context).await?, command).await
}

/// A connection on the operator's socket; the daemon may not take this process for the operator's.
///
/// # Errors
///
/// When no daemon runs.
pub async fn connection(context: &CliContext) -> Result<Live, Failure> {
    connect::needed(&context.project, connect::operator(&context.project).await)
}

/// The connection, if the daemon takes this process for the operator's. Otherwise it is sent the
/// command all the same, which it refuses and has recorded.
///
/// # Errors
///
/// When it does not.
pub async fn admitted(live: Live, command: &Command) -> Result<Live, Failure> {
    if live.welcome.operator {
        return Ok(live);
    }
    report(&live, command).await;
    Err(Failure::refused(
        RefusalCode::OperatorOnly,
        "only the operator may do this, and the daemon sees that this process runs below an agent, \
         a gate or the daemon itself, or has no terminal of its own",
        "use the deck, or run the command yourself in a terminal of your own",
    ))
}

/// Asks before the user's own files or settings are changed; `yes` answers for them. Without a
/// terminal nothing is changed unasked.
///
/// # Errors
///
/// When the answer is no, or nobody can be asked.
pub fn may_change(context: &CliContext, what: &str, yes: bool) -> Result<(), Failure> {
    context.out.note(what);
    if yes {
        return Ok(());
    }
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Err(Failure::refused(
            ProgramCode::NotConfirmed,
            "nothing was changed: there is no terminal to ask on",
            "add --yes if this is what you want",
        ));
    }
    match context.out.ask("Go on? [y/N]")?.as_deref() {
        Some("y" | "Y" | "yes") => Ok(()),
        _ => Err(Failure::refused(
            ProgramCode::NotConfirmed,
            "nothing was changed",
            "run the command again when you have decided",
        )),
    }
}

/// Sends the command where it is refused, and that recorded.
async fn report(live: &Live, command: &Command) {
    if command.is_operator_only()
        && let Ok(reply) = live.ask(command.clone()).await
    {
        tracing::error!(
            ?reply,
            "an operator command was accepted from somebody else"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(variables: &[(&str, &str)], has_terminal: bool) -> Option<String> {
        let variables = variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        refusal(variables, has_terminal).map(|failure| {
            assert_eq!(failure.kind.code(), 5);
            failure.message
        })
    }

    #[test]
    fn an_agents_shell_and_a_pipe_are_not_the_operator() {
        let home = ("HOME", "/h");
        for said in [
            ("CODEX_HOME", "/h/.codex"),
            ("CLAUDECODE", ""),
            ("CONTEXTRELAY_WORKER", ""),
            ("CONTEXTRELAY_WORKER", "0"),
        ] {
            assert_eq!(why(&[home, said], true), None, "{said:?}");
        }
        for name in [
            "CLAUDECODE",
            "CODEX_SANDBOX",
            "CODEX_SANDBOX_NETWORK_DISABLED",
            "CONTEXTRELAY_WORKER",
        ] {
            assert!(why(&[home, (name, "1")], true).unwrap().contains(name));
        }
        assert!(why(&[], false).unwrap().contains("terminal"));
    }
}
