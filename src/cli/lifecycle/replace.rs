//! [`replace`]: this program takes over from the running daemon; [`offer`]: asks the operator about
//! it if the two are not the same program.

use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::cli::connection::connect::{self, DaemonFound, Live};
use crate::cli::connection::difference::Difference;
use crate::cli::connection::lock_owner::becomes_free;
use crate::cli::connection::operator;
use crate::cli::context::CliContext;
use crate::cli::exit::Failure;
use crate::cli::lifecycle::detach;
use crate::cli::text::gauge::Gauge;
use crate::client::Connection;
use crate::core::agent::AgentState;
use crate::host::ProjectContext;
use crate::store::owner::is_free;
use crate::store::published::Published;
use crate::wire::control::{Command, HandOverParams, RefusalCode};
use crate::wire::jsonrpc::code;
use crate::wire::status::Status;

/// From the daemon's word that it begins to the other one's hello. Above the deadlines of both.
const REPLACED_WAIT: Duration = Duration::from_secs(70);

/// From the last word of a daemon that was stopped to its end. Above its own deadlines together.
const FREE_WAIT: Duration = Duration::from_secs(20);

/// What a daemon answers that is too old for the question.
pub(in crate::cli) const NO_SUCH_METHOD: RefusalCode = RefusalCode::Rpc(code::METHOD_NOT_FOUND);

/// Has this program go on in place of the running daemon. When the two do not understand each other
/// the running daemon is stopped and another started, but only when it is idle: a running turn
/// would end. When it ended and handed nothing over, another is started as well.
///
/// # Errors
///
/// When no daemon runs, it refuses, or it has to be stopped while Codex works.
pub fn replace(context: &CliContext, runtime: &Runtime) -> Result<Published, Failure> {
    let project = &context.project;
    let command = Command::HandOver(HandOverParams {
        program: project.own_program.clone(),
    });
    let gauge = Gauge::of_reading(context.out.is_json());
    let live = runtime.block_on(operator::live(context, &command))?;
    match runtime.block_on(ask_takeover(project, &live, command, gauge)) {
        Ok(Some(published)) => return Ok(published),
        Ok(None) => return detach::start(context, false),
        Err(failure) if failure.is(&RefusalCode::CannotTakeOver) || failure.is(&NO_SUCH_METHOD) => {
        }
        Err(failure) => return Err(failure),
    }
    runtime.block_on(async {
        if is_working(&live.status().await?) {
            return Err(Failure::unavailable(
                RefusalCode::Busy,
                "the daemon is of a version that has to be stopped, and an agent works",
                "try again when both agents are idle",
            ));
        }
        live.ask(Command::Stop(Default::default())).await?;
        let mut connection = live.client.connection();
        let gone = connection.wait_for(|state| !matches!(state, Connection::Connected(_)));
        let _ = timeout(REPLACED_WAIT, gone).await;
        // It sends its clients away before it closes its files, and has the lock until then.
        becomes_free(&project.dirs, FREE_WAIT).await;
        Ok(())
    })?;
    detach::start(context, false)
}

/// Returns the daemon that goes on; `None` when nobody does, because the one before ended.
async fn ask_takeover(
    project: &ProjectContext,
    live: &Live,
    command: Command,
    gauge: Gauge,
) -> Result<Option<Published>, Failure> {
    let before = Published::read(&project.dirs).map(|published| published.pid);
    let mut connection = live.client.connection();
    connection.borrow_and_update();
    live.ask(command).await?;
    let again = async {
        // The connection ends with the process, and the next one answers on the same socket.
        while connection.changed().await.is_ok() {
            if matches!(*connection.borrow_and_update(), Connection::Connected(_)) {
                break;
            }
        }
    };
    tokio::select! {
        () = again => {}
        // Both processes of a takeover have the lock: it is free only when neither is left.
        _ = becomes_free(&project.dirs, REPLACED_WAIT) => {}
        never = gauge.follow_reading(&project.dirs) => match never {},
    }
    if is_free(&project.dirs) {
        return Ok(None);
    }
    match Published::read(&project.dirs) {
        Some(now) if Some(now.pid) != before => Ok(Some(now)),
        _ => {
            let answers = matches!(*connection.borrow(), Connection::Connected(_));
            Err(not_replaced(answers))
        }
    }
}

/// Nobody else went on; `answers`: the one before does.
fn not_replaced(answers: bool) -> Failure {
    if answers {
        return Failure::unavailable(
            RefusalCode::SuccessorFailed,
            "the next daemon did not come up; the one before goes on",
            "see .contextrelay/state/contextrelay.log",
        );
    }
    Failure::unavailable(
        RefusalCode::SuccessorFailed,
        "the next daemon did not come up, and the one before does not answer",
        "see .contextrelay/state/contextrelay.log; end it with `ctxrelay kill`, then start it with \
         `ctxrelay daemon`",
    )
}

/// When the running daemon is of another version or build: offers to replace it. Returns why the
/// deck must leave it alone, if it must: one of another build of this version it can use as well.
pub fn offer(context: &CliContext, runtime: &Runtime) -> Option<String> {
    let difference = Difference::of(&context.project.dirs)?;
    let versions = difference.to_string();
    let left_alone = |why| (difference != Difference::Build).then_some(why);
    let found = runtime.block_on(async {
        match connect::control(&context.project).await {
            DaemonFound::Live(live) => Ok(live.status().await.ok()),
            DaemonFound::Nobody => Ok(None),
            DaemonFound::Unfit(why) => Err(why),
        }
    });
    let status = match found {
        Ok(status) => status,
        Err(why) => {
            return left_alone(unfit(&versions, &why));
        }
    };
    if status.is_none_or(|status| is_working(&status)) {
        return left_alone(format!(
            "{versions}: read-only until it is restarted; come again when both agents are idle"
        ));
    }
    if operator::asking_refusal().is_some() {
        // What nobody may see is not asked: the answer would be to another question.
        return left_alone(format!("{versions}: read-only until it is restarted"));
    }
    let question = format!("{versions}. Restart it now? The agents stay connected. [Y/n]");
    match context.out.ask(&question).ok().flatten().as_deref() {
        Some("" | "y" | "Y" | "yes") => match replace(context, runtime) {
            Ok(_) => None,
            Err(failure) => Some(format!("{versions}, and read-only: {}", failure.message)),
        },
        _ => left_alone(format!("{versions}: read-only until it is restarted")),
    }
}

/// It can be neither replaced nor asked whether anybody works.
fn unfit(versions: &str, why: &str) -> String {
    format!(
        "{versions}: {why}. Nothing can be read until it is stopped: `ctxrelay kill`, then start \
         this and the agents again"
    )
}

fn is_working(status: &Status) -> bool {
    let claude = status.agents.claude.state;
    status.agents.codex.turn_id.is_some()
        || matches!(claude, AgentState::Busy | AgentState::Waiting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_that_cannot_be_asked_is_told_of_with_its_reason_and_the_way_to_stop_it() {
        let refused = "the daemon refused this client: the client speaks control protocol 1";
        let told = unfit("the daemon is version 9, this is 1", refused);
        assert!(
            told.contains(refused) && told.contains("`ctxrelay kill`"),
            "{told}"
        );
        assert!(!told.contains("idle"), "{told}");
    }

    #[test]
    fn only_a_daemon_that_answers_is_said_to_go_on() {
        assert!(not_replaced(true).message.contains("goes on"));
        let silent = not_replaced(false);
        assert!(!silent.message.contains("goes on"), "{silent}");
        assert!(silent.hint.contains("ctxrelay daemon"), "{silent:?}");
        assert_eq!(silent.kind.code(), 4);
    }
}
