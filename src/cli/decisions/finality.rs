//! `ctxrelay finality …`: the proposals, and the operator's answer.

use clap::{Subcommand, ValueEnum};
use serde_json::{Value, json};

mod look;

use crate::adapters::git::work_tree::work_tree;
use crate::cli::connection::connect::{self, DaemonFound, Live, wait_for, world};
use crate::cli::connection::operator;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, ExitKind, Failure};
use crate::cli::offline::disk;
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::cli::signing::operator_key;
use crate::cli::text::by_id::{Wanted, by_id};
use crate::cli::text::words::{ago, count, now_ms, said, short};
use crate::core::entry::{ProposalState, TreeFound, WorkTree};
use crate::core::id::EntryId;
use crate::core::policy::{PolicyChange, SignOffMode};
use crate::core::signing::SignedDecision;
use crate::core::snapshot::{
    GateInForce, GateSnapshot, GateStatus, ProposalEnd, ProposalSnapshot, Snapshot,
};
use crate::wire::control::{
    Command, DecideParams, GateReport, PolicySet, ProgramCode, Recorded, Refusal, RefusalCode,
};
use look::Look;

/// What can be done about sign-off.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Proposals, those that wait first
    #[command(after_help = "Example: ctxrelay finality list --json | jq .proposals[0].id")]
    List,
    /// One proposal
    #[command(after_help = "Example: ctxrelay finality show 01997b2e-…")]
    Show(OneArgs),
    /// Say yes (operator)
    #[command(after_help = "Example: ctxrelay finality approve 01997b2e-…")]
    Approve(OneArgs),
    /// Say no, with the reason that the agents will read (operator)
    #[command(
        after_help = "Example: ctxrelay finality reject 01997b2e-… --reason 'tests fail on macOS'"
    )]
    Reject(RejectArgs),
    /// Who signs off
    #[command(after_help = "Example: ctxrelay finality mode manual")]
    Mode(ModeArgs),
}

/// Names a proposal.
#[derive(Debug, clap::Args)]
pub struct OneArgs {
    /// Its id, or the end of it
    #[arg(value_name = "ID")]
    pub id: String,
}

/// Arguments of `finality reject`.
#[derive(Debug, clap::Args)]
pub struct RejectArgs {
    /// Its id, or the end of it
    #[arg(value_name = "ID")]
    pub id: String,
    /// What has to change
    #[arg(long, value_name = "TEXT", value_parser = said)]
    pub reason: String,
}

/// Arguments of `finality mode`.
#[derive(Debug, clap::Args)]
pub struct ModeArgs {
    /// The operator, or the gates; says who it is when left out
    #[arg(value_name = "MODE")]
    pub mode: Option<ModeWord>,
}

/// The word for a mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeWord {
    /// The operator alone.
    Manual,
    /// The required gates, where all are green on the very tree that was proposed.
    Auto,
}

pub fn run(context: &CliContext, verb: Verb) -> CliOutcome {
    match verb {
        Verb::List => list(context),
        Verb::Show(args) => show(context, &args.id),
        Verb::Approve(args) => decide(context, &args.id, None),
        Verb::Reject(args) => decide(context, &args.id, Some(args.reason)),
        Verb::Mode(args) => match args.mode {
            Some(mode) => set_mode(context, mode),
            None => show_mode(context),
        },
    }
}

/// Who approves, as the daemon has it, else as the disk does.
fn show_mode(context: &CliContext) -> CliOutcome {
    let mode = wait_for(async {
        match connect::control(&context.project).await {
            DaemonFound::Live(live) => Ok::<_, Failure>(live.status().await?.finality.mode),
            DaemonFound::Nobody | DaemonFound::Unfit(_) => {
                Ok(disk::sign_off_on_disk(&context.project).into())
            }
        }
    })?;
    let mut text = ReportText::new();
    text.line(match mode.known() {
        Some(SignOffMode::Manual) => "mode manual: you alone approve".to_owned(),
        Some(SignOffMode::Auto) => {
            "mode auto: the required gates approve what they find green".to_owned()
        }
        None => format!("mode {mode}, which this version does not know"),
    });
    let is_trusted_auto = look::mode(context) == SignOffMode::Auto;
    if is_trusted_auto && mode.known() == Some(&SignOffMode::Manual) {
        text.note("mode auto is set and has no effect: decisions are signed here");
    }
    context
        .out
        .report(Report::new(&json!({"mode": mode}), text))
}

fn set_mode(context: &CliContext, word: ModeWord) -> CliOutcome {
    let (mode, what) = match word {
        ModeWord::Manual => (SignOffMode::Manual, "Only you approve from now on."),
        ModeWord::Auto => (
            SignOffMode::Auto,
            "From now on the daemon runs the required gates whenever an agent proposes, and approves \
             without you what they find green.",
        ),
    };
    if mode == SignOffMode::Auto {
        let world = wait_for(world(&context.project))?;
        if world.signing.is_some() {
            return Err(Refusal::gates_cannot_sign().into());
        }
    }
    let command = Command::SetPolicy(PolicyChange::SignOff { mode });
    let set: PolicySet = wait_for(operator::ask(context, command, what, mode.as_str()))?;
    let mut text = ReportText::new();
    text.note(format!(
        "finality mode {mode}, recorded as entry {}",
        set.seq
    ));
    let has_gate = look::gates(context).iter().any(|gate| gate.required);
    if mode == SignOffMode::Auto && !has_gate {
        text.note("no required gate is in force, so that nothing is approved: `ctxrelay trust`");
    }
    let value = json!({"mode": mode, "entryId": set.entry_id, "seq": set.seq});
    context.out.report(Report::new(&value, text))
}

/// Those that wait, oldest first, then the others, newest first.
fn proposals(world: &Snapshot) -> Vec<&ProposalSnapshot> {
    let mut pending: Vec<&ProposalSnapshot> = world.pending_proposals.values().collect();
    pending.sort_by_key(|proposal| proposal.seq);
    let over = world.decided_proposals.iter().chain(&world.ended_proposals);
    let mut over: Vec<&ProposalSnapshot> = over.collect();
    over.sort_by_key(|proposal| std::cmp::Reverse(proposal.seq));
    pending.extend(over);
    pending
}

fn to_json(look: &Look<'_>, proposal: &ProposalSnapshot) -> Value {
    let mut value = json!({
        "id": proposal.id,
        "seq": proposal.seq,
        "by": proposal.by,
        "at": proposal.at_ms,
        "summary": proposal.proposal.summary,
        "evidence": proposal.proposal.evidence,
        "remainingRisk": proposal.proposal.remaining_risk,
        "handles": proposal.proposal.handles,
        "replaces": look
            .world
            .replaced_by(&proposal.id)
            .map(|earlier| &earlier.id)
            .collect::<Vec<_>>(),
        "status": proposal.state(),
        "endedBy": proposal.ended.as_ref().map(ProposalEnd::by),
        "reason": proposal.decision.as_ref().and_then(|(decision, _)| decision.reason.clone()),
        "tree": proposal.proposal.tree,
        "blockers": if proposal.is_pending() {
            look.blockers(proposal)
        } else {
            Vec::new()
        },
        "gates": look
            .gates
            .iter()
            .map(|gate| GateReport::of(gate, look.world))
            .collect::<Vec<_>>(),
    });
    if proposal.is_pending() {
        value["stale"] = look.stale(proposal).is_some().into();
        value["treeNow"] = look.stale(proposal).into();
    }
    value
}

/// That the work tree is not what was proposed, below the proposal.
fn stale(out: &mut ReportText, look: &Look<'_>, proposal: &ProposalSnapshot) {
    if let Some(now) = look.stale(proposal) {
        out.spans(&[
            (Tone::Warning, "  STALE    "),
            (Tone::Plain, &why_stale(now)),
        ]);
    }
}

fn why_stale(now: &str) -> String {
    if now == TreeFound::UNREADABLE {
        return "git could not read the work tree: nobody knows whether it is what was proposed"
            .to_owned();
    }
    format!("the work tree is not what was proposed, but {now}")
}

fn list(context: &CliContext) -> CliOutcome {
    let world = wait_for(world(&context.project))?;
    let proposals = proposals(&world);
    let mut text = ReportText::new();
    if proposals.is_empty() {
        text.note("no proposals");
    }
    let look = Look::at_gates(context, &world);
    for proposal in &proposals {
        row(&mut text, proposal);
        stale(&mut text, &look, proposal);
    }
    let proposals: Vec<Value> = proposals
        .iter()
        .map(|proposal| to_json(&look, proposal))
        .collect();
    let value = json!({"mode": look::mode(context), "proposals": proposals});
    context.out.report(Report::new(&value, text))
}

fn row(out: &mut ReportText, proposal: &ProposalSnapshot) {
    let word = proposal.state();
    let tone = match word {
        ProposalState::Pending => Tone::Warning,
        ProposalState::Approved => Tone::Good,
        ProposalState::Rejected => Tone::Bad,
        _ => Tone::Faint,
    };
    out.spans(&[
        (tone, &format!("{word:<11}")),
        (
            Tone::Faint,
            &format!("{}  {:>10}  ", proposal.id, ago(now_ms() - proposal.at_ms)),
        ),
        (
            Tone::Plain,
            &format!("{}: {}", proposal.by, short(&proposal.proposal.summary, 80)),
        ),
    ]);
}

fn show(context: &CliContext, name: &str) -> CliOutcome {
    let world = wait_for(world(&context.project))?;
    let proposal = find(&world, name)?;
    let look = Look::new(context, &world);
    let mut value = to_json(&look, proposal);
    if proposal.is_pending() {
        let changed = look.changed_checks();
        value["changedChecks"] = json!({
            "files": changed.named,
            "more": changed.more,
            "note": changed.note,
        });
    }
    context
        .out
        .report(Report::new(&value, card(&look, proposal)))
}

fn card(look: &Look<'_>, proposal: &ProposalSnapshot) -> ReportText {
    let mut out = ReportText::new();
    row(&mut out, proposal);
    stale(&mut out, look, proposal);
    out.block("  ", &proposal.proposal.summary);
    for evidence in &proposal.proposal.evidence {
        out.spans(&[(Tone::Faint, "  claimed  "), (Tone::Plain, evidence)]);
    }
    if let Some(risk) = &proposal.proposal.remaining_risk {
        out.spans(&[(Tone::Warning, "  risk     "), (Tone::Plain, risk)]);
    }
    for earlier in look.world.replaced_by(&proposal.id) {
        let summary = short(&earlier.proposal.summary, 60);
        let text = format!("{} of {}: {summary}", earlier.id, earlier.by);
        out.spans(&[(Tone::Faint, "  replaces "), (Tone::Plain, &text)]);
    }
    if let Some(end) = &proposal.ended {
        let text = format!("  {} by entry {}", proposal.state(), end.by());
        out.spans(&[(Tone::Faint, &text)]);
    }
    if proposal.is_pending() {
        for gate in &look.gates {
            gate_status(&mut out, look, gate, proposal);
        }
        checks(&mut out, look);
        for blocker in look.blockers(proposal) {
            out.spans(&[(Tone::Bad, "  blocker  "), (Tone::Plain, &blocker)]);
        }
    }
    if let Some(tree) = &proposal.proposal.tree {
        let commit = tree.commit.as_deref().unwrap_or("no commit");
        let text = format!(
            "  {commit}, tree {}, {} changed",
            tree.tree,
            count(tree.changed, "file", "files")
        );
        out.spans(&[(Tone::Faint, &text)]);
    }
    if let Some(reason) = proposal
        .decision
        .as_ref()
        .and_then(|(decision, _)| decision.reason.as_deref())
    {
        out.spans(&[(Tone::Faint, "  reason   "), (Tone::Plain, reason)]);
    }
    out
}

/// The tests and manifests that changed since the last approval.
fn checks(out: &mut ReportText, look: &Look<'_>) {
    let changed = look.changed_checks();
    for name in &changed.named {
        out.spans(&[(Tone::Warning, "  changed  "), (Tone::Plain, name)]);
    }
    if changed.more > 0 {
        let more = format!("  and {} more tests and manifests", changed.more);
        out.spans(&[(Tone::Warning, &more)]);
    }
    if let Some(note) = changed.note {
        let text = format!("tests and manifests: {note}");
        out.spans(&[(Tone::Faint, "  changed  "), (Tone::Faint, &text)]);
    }
}

/// What a gate says of the tree that an approval would be of.
fn gate_status(
    out: &mut ReportText,
    look: &Look<'_>,
    gate: &GateInForce,
    proposal: &ProposalSnapshot,
) {
    let on = look.on(proposal);
    let need = look.world.gate_need(gate, &on);
    let no_result;
    let (tone, word) = match look.world.gate_status(gate, &on) {
        GateStatus::Green => (Tone::Good, "green"),
        GateStatus::NoResult => {
            let latest = look.world.gates.get(&gate.name);
            let how = latest.map(GateSnapshot::how).unwrap_or_default();
            no_result = format!("no result: {how}");
            (Tone::Warning, no_result.as_str())
        }
        GateStatus::Red => (Tone::Bad, "red"),
        GateStatus::Stale if on.is_unreadable => (Tone::Warning, "the work tree could not be read"),
        GateStatus::Stale => (Tone::Warning, "not run on this tree"),
        GateStatus::Unrun => (Tone::Faint, "not run"),
        GateStatus::NotNeeded => (Tone::Faint, "not run"),
        GateStatus::Unreadable => (
            Tone::Bad,
            gate.unreadable.as_deref().unwrap_or("cannot be run"),
        ),
    };
    let text = format!("{} · {}", gate.name, short(&gate.cmd, 60));
    let optional = if gate.required { "" } else { " (not required)" };
    let need = need.map_or_else(String::new, |need| format!(" · {need}"));
    out.spans(&[
        (Tone::Faint, "  gate     "),
        (Tone::Plain, &text),
        (tone, &format!(" · {word}{optional}{need}")),
    ]);
}

/// The proposal of this id, or the only one whose id ends like this.
fn find<'a>(world: &'a Snapshot, name: &str) -> Result<&'a ProposalSnapshot, Failure> {
    const WANTED: Wanted = Wanted {
        what: "proposal",
        place: "",
        list: "ctxrelay finality list",
    };
    by_id(
        proposals(world).into_iter(),
        |proposal| &proposal.id,
        name,
        &WANTED,
    )
}

fn decide(context: &CliContext, name: &str, rejection: Option<String>) -> CliOutcome {
    let approve = rejection.is_none();
    let word = if approve { "approve" } else { "reject" };
    let named = DecideParams {
        reason: rejection,
        ..DecideParams::of(EntryId::new(name), approve)
    };
    wait_for(async {
        let live = operator::live(context, &Command::Decide(named.clone())).await?;
        let world = live.snapshot().await?;
        let proposal = find(&world, name)?;
        let look = Look::new(context, &world);
        context.out.aside(card(&look, proposal))?;
        if !proposal.is_pending() {
            let (code, why) = (RefusalCode::WrongState, proposal.why_over());
            return Err(Failure::state(code, why, "see `ctxrelay finality list`"));
        }
        let what = format!("You are about to {word} this proposal of {}.", proposal.by);
        let stale = look.stale(proposal).filter(|_| approve).map(str::to_owned);
        if approve {
            check_gates(&look, proposal)?;
        }
        match &stale {
            Some(now) => {
                let what = format!("STALE: {}. {what}", why_stale(now));
                operator::confirm(context, &what, "stale")?;
            }
            None => operator::confirm(context, &what, word)?,
        }
        let signed = sign(context, &live, &world, proposal, approve).await?;
        let decided = DecideParams {
            proposal_id: proposal.id.clone(),
            stale_tree: stale,
            seen: Some(world.seq),
            session_id: world.session_id.clone(),
            ..named
        };
        let command = Command::Decide(decided.signed(signed));
        let recorded: Recorded = live.ask_for(command).await?;
        let line = format!("recorded as entry {}", recorded.seq);
        context.out.report(Report::new(&recorded, line))
    })
}

/// What the daemon would refuse is refused before anything is typed or signed. It looks again.
fn check_gates(look: &Look<'_>, proposal: &ProposalSnapshot) -> Result<(), Failure> {
    let red = look.gate_blockers(proposal);
    if red.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        ExitKind::CheckFailed,
        RefusalCode::GatesNotGreen,
        red.join("; "),
        "run the gates: `ctxrelay gates run`, or `g` on the card; reject what does not pass",
    ))
}

/// Has the operator sign, where decisions are signed. What is signed is the work tree of now, which
/// goes along.
async fn sign(
    context: &CliContext,
    live: &Live,
    world: &Snapshot,
    proposal: &ProposalSnapshot,
    approved: bool,
) -> Result<Option<SignedDecision>, Failure> {
    let Some(signing) = &world.signing else {
        return Ok(None);
    };
    let Some(head) = &proposal.hash else {
        return Err(Failure::state(
            ProgramCode::NoChain,
            "this proposal stands before the chain, and nothing can be signed over it",
            "have it proposed again",
        ));
    };
    let wanted = Some(&signing.notice.signer);
    let key = operator_key::find_wanted(context, live, wanted).await?;
    let tree = work_tree(&context.project.dirs.root);
    let pin = WorkTree::pin(tree.as_ref());
    let sign = |bytes: &[u8]| key.sign(bytes);
    let signature = signing.sign_decision(head, &proposal.id, pin, approved, sign)?;
    Ok(Some(SignedDecision { signature, tree }))
}
