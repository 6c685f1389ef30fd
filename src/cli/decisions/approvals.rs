//! `ctxrelay approvals …`: the requests that the agents make to the person before they go on.

use clap::Subcommand;
use serde_json::{Value, json};

use crate::cli::connection::connect::{DaemonFound, Live, control, is_nowhere, needed, wait_for};
use crate::cli::connection::operator;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::offline::disk;
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::cli::text::by_id::{Wanted, by_id};
use crate::cli::text::words::{ago, count, now_ms, short};
use crate::core::entry::{ApprovalChoice, ApprovalRequest, ChoiceEffect};
use crate::core::id::EntryId;
use crate::core::policy::{RuleInForce, risk_hints};
use crate::core::snapshot::{ApprovalSnapshot, Snapshot};
use crate::wire::control::{AnswerApprovalParams, Command, ProgramCode, Recorded};

/// What can be done about requests for approval.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// What waits for your answer
    #[command(after_help = "Example: ctxrelay approvals list --json | jq .approvals[0].id")]
    List,
    /// One request, with all that it says and what may be answered
    #[command(after_help = "Example: ctxrelay approvals show 01997b2e-…")]
    Show(AskedArgs),
    /// Answer one (operator)
    #[command(
        after_help = "Example: ctxrelay approvals answer 01997b2e-… decline --note 'use the mirror'"
    )]
    Answer(AnswerArgs),
}

/// Names a request.
#[derive(Debug, clap::Args)]
pub struct AskedArgs {
    /// Its id, or the end of it
    #[arg(value_name = "ID")]
    pub id: String,
}

/// Arguments of `approvals answer`.
#[derive(Debug, clap::Args)]
pub struct AnswerArgs {
    /// Its id, or the end of it
    #[arg(value_name = "ID")]
    pub id: String,
    /// One of its choices, by id or by number
    #[arg(value_name = "CHOICE")]
    pub choice: String,
    /// What the agent is told with a refusal, or your own words where they are the answer
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
}

pub fn run(context: &CliContext, verb: Verb) -> CliOutcome {
    match verb {
        Verb::List => list(context),
        Verb::Show(args) => show(context, &args.id),
        Verb::Answer(args) => answer(context, args),
    }
}

/// What is known of the requests that wait.
struct Waiting {
    world: Snapshot,
    rules: Vec<RuleInForce>,
    /// The project's folder.
    root: String,
    /// What only can be answered in Codex's terminal, and stands in no entry.
    elsewhere: u64,
    /// Claude waits at a dialog of its own that is none of the requests.
    claude_elsewhere: bool,
}

fn root(context: &CliContext) -> String {
    context.project.dirs.root.to_string_lossy().into_owned()
}

impl Waiting {
    fn read(context: &CliContext) -> Result<Self, Failure> {
        wait_for(async {
            match control(&context.project).await {
                DaemonFound::Nobody => {
                    is_nowhere(&context.project)?;
                    Self::on_disk(context)
                }
                found => {
                    let live = needed(&context.project, found)?;
                    Self::of_daemon(&live, root(context)).await
                }
            }
        })
    }

    async fn of_daemon(live: &Live, root: String) -> Result<Self, Failure> {
        let status = live.status().await?;
        // A request may come or be answered between the two reads: what one has is not taken from
        // what the other counts.
        let world = live.snapshot().await?;
        let claude = &status.agents.claude;
        Ok(Self {
            claude_elsewhere: claude.waits_elsewhere(&world.open_approvals),
            world,
            rules: status.policy.rules,
            root,
            elsewhere: status.approvals.elsewhere,
        })
    }

    fn on_disk(context: &CliContext) -> Result<Self, Failure> {
        let mut world = disk::snapshot(&context.project)?;
        world
            .open_approvals
            .retain(|_, asked| asked.outlives_daemon());
        Ok(Self {
            world,
            rules: disk::policy_on_disk(&context.project).rules,
            root: root(context),
            elsewhere: 0,
            claude_elsewhere: false,
        })
    }

    /// All of them, the one that has waited longest first.
    fn all(&self) -> Vec<&ApprovalSnapshot> {
        let mut all: Vec<_> = self.world.open_approvals.values().collect();
        all.sort_by_key(|asked| asked.seq);
        all
    }

    fn hints(&self, asked: &ApprovalSnapshot) -> Vec<String> {
        risk_hints(asked.agent, &asked.request, &self.rules, &self.root)
    }

    fn json(&self, asked: &ApprovalSnapshot) -> Value {
        let request = &asked.request;
        json!({
            "id": asked.id,
            "seq": asked.seq,
            "agent": asked.agent,
            "at": asked.at_ms,
            "kind": request.kind,
            "subject": request.subject,
            "cwd": request.cwd,
            "reason": request.reason,
            "hints": self.hints(asked),
            "choices": request.choices,
            "given": asked.given.as_ref().map(|(choice, _)| choice),
            "callWaitsUntil": request.call_waits_until_ms,
        })
    }
}

fn list(context: &CliContext) -> CliOutcome {
    let waiting = Waiting::read(context)?;
    let all = waiting.all();
    let mut text = ReportText::new();
    if all.is_empty() && waiting.elsewhere == 0 && !waiting.claude_elsewhere {
        text.note("nothing waits for your answer");
    }
    for asked in &all {
        row(&mut text, asked);
        for hint in waiting.hints(asked) {
            text.spans(&[(Tone::Warning, &format!("  {hint}"))]);
        }
    }
    if waiting.elsewhere > 0 {
        let many = count(waiting.elsewhere, "request waits", "requests wait");
        text.note(format!("{many} in Codex's own terminal only"));
    }
    if waiting.claude_elsewhere {
        text.note("Claude waits for you in its own terminal");
    }
    let all: Vec<Value> = all.into_iter().map(|asked| waiting.json(asked)).collect();
    let value = json!({
        "approvals": all,
        "elsewhere": waiting.elsewhere,
        "claudeElsewhere": waiting.claude_elsewhere,
    });
    context.out.report(Report::new(&value, text))
}

fn row(out: &mut ReportText, asked: &ApprovalSnapshot) {
    let (tone, word) = match asked.given_label() {
        Some(_) => (Tone::Faint, "answered"),
        None => (Tone::Warning, "waits"),
    };
    let ago = ago(now_ms() - asked.at_ms);
    out.spans(&[
        (tone, &format!("{word:<9}")),
        (Tone::Faint, &format!("{}  {ago:>10}  ", asked.id)),
        (
            Tone::Plain,
            &format!(
                "{} asks {}: {}",
                asked.agent.title(),
                asked.request.kind.sought(),
                short(&asked.request.subject, 80)
            ),
        ),
    ]);
}

fn show(context: &CliContext, name: &str) -> CliOutcome {
    let waiting = Waiting::read(context)?;
    let asked = find(&waiting.world, name)?;
    let mut value = waiting.json(asked);
    value["details"] = asked.details().into();
    let text = card(asked, waiting.hints(asked));
    context.out.report(Report::new(&value, text))
}

fn card(asked: &ApprovalSnapshot, hints: Vec<String>) -> ReportText {
    let request = &asked.request;
    let mut out = ReportText::new();
    row(&mut out, asked);
    out.block("  ", &request.subject);
    for (name, _, text) in asked.unsaid() {
        out.spans(&[(Tone::Faint, &format!("  {name}  ")), (Tone::Plain, &text)]);
    }
    for hint in hints {
        out.spans(&[(Tone::Warning, &format!("  {hint}"))]);
    }
    if !asked.details().is_empty() {
        out.block("  ", asked.details());
    }
    if let Some(rest) = asked.rest() {
        out.note(rest);
    }
    if let Some(given) = asked.given_label() {
        let text = format!("  answered: {given}; its effect is not known yet");
        out.spans(&[(Tone::Faint, &text)]);
    }
    for (at, choice) in request.choices.iter().enumerate() {
        out.spans(&[
            (Tone::Faint, &format!("  {}  ", at + 1)),
            (Tone::Plain, &choice.label),
            (Tone::Faint, &format!("  {}", choice.id)),
        ]);
    }
    if request.choices.is_empty() {
        out.note("it can be answered in the agent's own terminal only");
    }
    out
}

fn find<'a>(world: &'a Snapshot, name: &str) -> Result<&'a ApprovalSnapshot, Failure> {
    const WANTED: Wanted = Wanted {
        what: "request",
        place: " that waits",
        list: "ctxrelay approvals list",
    };
    by_id(
        world.open_approvals.values(),
        |asked| &asked.id,
        name,
        &WANTED,
    )
}

fn answer(context: &CliContext, args: AnswerArgs) -> CliOutcome {
    let AnswerArgs { id, choice, note } = args;
    let command = |id: EntryId, choice: String| {
        Command::AnswerApproval(AnswerApprovalParams {
            id,
            choice,
            note: note.clone(),
        })
    };
    wait_for(async {
        let live = operator::live(context, &command(EntryId::new(&*id), choice.clone())).await?;
        let world = live.snapshot().await?;
        let rules = live.status().await?.policy.rules;
        let asked = find(&world, &id)?;
        let chosen = chosen(&asked.request, &choice)?;
        let says = note.as_deref().is_some_and(|note| !note.trim().is_empty());
        if chosen.effect == ChoiceEffect::OwnWords && !says {
            return Err(Failure::invalid(
                "an answer in own words needs the words",
                "say them with `--note TEXT`",
            ));
        }
        let hints = risk_hints(asked.agent, &asked.request, &rules, &root(context));
        context.out.aside(card(asked, hints))?;
        let what = format!("You answer {}: {}.", asked.agent.title(), chosen.label);
        operator::confirm(context, &what, word(chosen.effect))?;
        let command = command(asked.id.clone(), chosen.id.clone());
        let recorded: Recorded = live.ask_for(command).await?;
        let line = format!("recorded as entry {}", recorded.seq);
        context.out.report(Report::new(&recorded, line))
    })
}

/// The choice that is named by its id, or by its number on the card. An agent that asks a question
/// names its answers itself, and may name the second one `1`.
fn chosen<'a>(request: &'a ApprovalRequest, name: &str) -> Result<&'a ApprovalChoice, Failure> {
    let number = name.parse::<usize>().ok();
    let at = number.and_then(|number| number.checked_sub(1));
    let numbered = at.and_then(|at| request.choices.get(at));
    let named = request.choice(name);
    if let (Some(named), Some(numbered)) = (named, numbered)
        && named.id != numbered.id
    {
        return Err(Failure::state(
            ProgramCode::AmbiguousChoice,
            format!(
                "`{name}` is the number of one choice and the id of another, `{}`",
                short(&named.label, 40)
            ),
            "answer it in the deck, or in the agent's own terminal",
        ));
    }
    named.or(numbered).ok_or_else(|| {
        let ids: Vec<&str> = request.choices.iter().map(|one| &*one.id).collect();
        Failure::state(
            ProgramCode::NoSuchChoice,
            format!("`{}` may not be answered to this", short(name, 40)),
            match ids.as_slice() {
                [] => "answer it in the agent's own terminal".to_owned(),
                ids => format!("one of: {}", ids.join(", ")),
            },
        )
    })
}

/// What is typed before it is sent.
fn word(effect: ChoiceEffect) -> &'static str {
    match effect {
        ChoiceEffect::AllowOnce | ChoiceEffect::AllowMore => "allow",
        ChoiceEffect::Deny | ChoiceEffect::DenyMore | ChoiceEffect::Stop => "deny",
        ChoiceEffect::Answer | ChoiceEffect::OwnWords => "answer",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::client::Connection;
    use crate::client::fake_daemon::{Answering, FakeDaemon, Place};
    use crate::core::entry::ApprovalKind;
    use crate::wire::control::{Reply, Role};
    use crate::wire::status::{ApprovalsStatus, Status};

    fn asking(ids: &[&str]) -> ApprovalRequest {
        let choices = ids
            .iter()
            .map(|id| ApprovalChoice::new(*id, format!("say {id}"), ChoiceEffect::Answer));
        ApprovalRequest {
            choices: choices.collect(),
            ..ApprovalRequest::new(ApprovalKind::Question, "k".to_owned(), "Which?".to_owned())
        }
    }

    #[tokio::test]
    async fn a_request_that_is_answered_between_two_reads_waits_nowhere_else() {
        let place = Place::default();
        let _daemon = FakeDaemon::start(&place, |command| {
            Answering::Reply(match command {
                // One in the record, and one of which no entry tells.
                Command::ReadStatus => Reply::Status(Box::new(Status {
                    approvals: ApprovalsStatus {
                        pending: 2,
                        elsewhere: 1,
                    },
                    ..Status::default()
                })),
                Command::ReadSnapshot => Reply::Snapshot(Arc::default()),
                other => panic!("{other:?}"),
            })
        })
        .await;
        let client = place.client(Role::Cli);
        let mut connection = client.connection();
        let welcome = loop {
            if let Connection::Connected(welcome) = &*connection.borrow_and_update() {
                break welcome.clone();
            }
            connection.changed().await.unwrap();
        };
        let live = Live { client, welcome };
        let waiting = Waiting::of_daemon(&live, String::new()).await.unwrap();
        assert_eq!((waiting.all().len(), waiting.elsewhere), (0, 1));
    }

    #[test]
    fn a_choice_is_named_by_its_id_or_its_number_and_never_taken_for_another() {
        let request = asking(&["yes", "no"]);
        for (name, id) in [("yes", "yes"), ("1", "yes"), ("2", "no")] {
            assert_eq!(chosen(&request, name).unwrap().id, id);
        }
        for name in ["0", "3", "", "-1", "say no"] {
            assert_eq!(
                chosen(&request, name).unwrap_err().code,
                ProgramCode::NoSuchChoice.into()
            );
        }
        let crossed = asking(&["2", "1", "3"]);
        for name in ["1", "2"] {
            let failure = chosen(&crossed, name).unwrap_err();
            assert_eq!(failure.code, ProgramCode::AmbiguousChoice.into());
        }
        assert_eq!(chosen(&crossed, "3").unwrap().id, "3");
    }
}
