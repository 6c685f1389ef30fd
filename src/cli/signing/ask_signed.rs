//! [`ask_signed`]: as [`ask`](crate::cli::connection::operator::ask), for an act that is signed if
//! the record requires it.

use crate::cli::connection::operator::{confirm_lines, live};
use crate::cli::context::CliContext;
use crate::cli::exit::Failure;
use crate::cli::signing::operator_key::sign_act;
use crate::core::signing::{ActSignature, OperatorAct};
use crate::wire::control::{Command, Reply};

/// What the operator is asked before an act is signed.
#[derive(Debug)]
pub struct SignedQuestion<'a> {
    /// What is done.
    pub what: &'a str,
    /// What goes with it, a line each.
    pub below: Vec<String>,
    /// What has to be typed.
    pub word: &'a str,
}

/// What is signed of an act.
#[derive(Debug, Clone, Copy)]
pub struct SignedSubject<'a> {
    /// What is done.
    pub act: OperatorAct,
    pub subject: &'a str,
    pub verdict: &'a str,
}

/// Carries out one command of the operator, with the signature that it needs.
///
/// # Errors
///
/// As [`ask`](crate::cli::connection::operator::ask), or when nothing could be signed.
pub async fn ask_signed<T: TryFrom<Reply, Error = Reply>>(
    context: &CliContext,
    subject: SignedSubject<'_>,
    command: impl Fn(Option<ActSignature>) -> Command,
    asked: SignedQuestion<'_>,
) -> Result<T, Failure> {
    let live = live(context, &command(None)).await?;
    confirm_lines(context, asked.what, &asked.below, asked.word)?;
    let SignedSubject {
        act,
        subject,
        verdict,
    } = subject;
    let signature = sign_act(context, &live, act, subject, "", verdict).await?;
    live.ask_for(command(signature)).await
}
