//! `ctxrelay gates …` and `ctxrelay release-gate`: the project's evidence commands, run by the
//! daemon.

use std::time::Duration;

use clap::Subcommand;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{sleep, timeout};

use crate::adapters::git::found::tree_glanced_since;
use crate::cli::connection::connect::{self, DaemonFound, Live, wait_for};
use crate::cli::connection::operator;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::offline::disk;
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::cli::signing::operator_key;
use crate::cli::text::words::{count, now_ms, short, time};
use crate::client::Connection;
use crate::core::entry::{ArtifactStatus, WorkTree};
use crate::core::id::EntryId;
use crate::core::signing::OperatorAct;
use crate::core::snapshot::{GateInForce, Snapshot};
use crate::store::config;
use crate::wire::config::GateList;
use crate::wire::control::{
    Command, EndedRun, GateReport, GatesReport, Recorded, RefusalCode, ReleaseOutcome,
    ReleaseToSign, RunGatesParams, SignReleaseParams,
};
use crate::wire::status::GateRunning;

/// How often the daemon is asked whether a run is over; gates take seconds to minutes.
const LOOK: Duration = Duration::from_millis(200);

/// How long a daemon may take to say that it runs the gates, once the person wants no more of them.
const BEGUN_WAIT: Duration = Duration::from_secs(2);

/// How long a daemon that is there may take until it answers again.
const BACK_WAIT: Duration = Duration::from_secs(10);

/// How much of a command is shown, in characters.
const CMD_CHARS: usize = 60;

/// What can be done about gates.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// The gates that you trust, and what they came to
    #[command(after_help = "Example: ctxrelay gates list --json")]
    List,
    /// Run gates and record what they come to (operator)
    #[command(after_help = "Example: ctxrelay gates run tests")]
    Run(RunArgs),
}

/// Arguments of `gates run`.
#[derive(Debug, clap::Args)]
pub struct RunArgs {
    /// Which; all of them by itself
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
}

/// Arguments of `release-gate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay release-gate --json")]
pub struct ReleaseArgs {}

pub fn run(context: &CliContext, verb: Verb) -> CliOutcome {
    match verb {
        Verb::List => list(context),
        Verb::Run(args) => run_gates(
            context,
            RunGatesParams {
                names: args.names,
                release: false,
            },
        ),
    }
}

pub fn release(context: &CliContext) -> CliOutcome {
    let params = RunGatesParams {
        names: Vec::new(),
        release: true,
    };
    run_gates(context, params)
}

fn list(context: &CliContext) -> CliOutcome {
    let (mut report, running) = wait_for(async {
        match connect::control(&context.project).await {
            DaemonFound::Live(live) => {
                let report = ask(&live, Command::ListGates).await?;
                let running = match report.running {
                    Some(_) => live.status().await?.gates.running,
                    None => None,
                };
                Ok::<_, Failure>((report, running))
            }
            DaemonFound::Nobody | DaemonFound::Unfit(_) => Ok((from_disk(context)?, None)),
        }
    })?;
    let is_unreadable = mark_other_trees(context, &mut report.gates);
    let gates: Vec<GateReport> = {
        let untrusted = untrusted(context, &report.gates);
        report.gates.into_iter().chain(untrusted).collect()
    };
    let mut text = rows(&gates);
    if is_unreadable {
        text.note("git could not read the work tree: no gate is green on it");
    }
    if let Some(running) = &running {
        text.line(runs_now(running));
    }
    if gates.is_empty() {
        text.note("no gates: name commands in `gates` of config.json, then `ctxrelay trust`");
    }
    let value = json!({"gates": gates, "running": report.running, "runningGate": running.as_ref()});
    context.out.report(Report::new(&value, text))
}

/// That a gate runs, and how its run is stopped.
fn runs_now(running: &GateRunning) -> String {
    let more = match running.left {
        0 => String::new(),
        left => format!(", {} after it", count(left, "gate", "gates")),
    };
    format!(
        "gate {} runs since {}{more}; `g` on a proposal's card stops the run, or ctrl-c at the \
         command that began it",
        running.name,
        time(running.since, now_ms()),
    )
}

/// Marks the runs of which the work tree of now is not told, and says whether git could not read it.
fn mark_other_trees(context: &CliContext, gates: &mut [GateReport]) -> bool {
    if gates.iter().all(|gate| gate.tree.is_none()) {
        return false;
    }
    let now = tree_glanced_since(&context.project.dirs.root, None).0;
    for gate in gates {
        let ran = gate.tree.as_ref().map(|tree| &tree.tree);
        let is_other = |now: &WorkTree| ran.is_some_and(|ran| *ran != now.tree);
        gate.other_tree = now.tree().is_some_and(is_other);
    }
    now.is_unreadable()
}

/// What is known without a daemon: the trusted ones, and the record.
fn from_disk(context: &CliContext) -> Result<GatesReport, Failure> {
    let project = &context.project;
    let loaded = config::load(&project.dirs, &project.user_dirs);
    let world = disk::snapshot(project)?;
    let gates = loaded.config.gates_in_force();
    Ok(GatesReport {
        gates: gates
            .iter()
            .map(|gate| GateReport::of(gate, &world))
            .collect(),
        ..GatesReport::default()
    })
}

/// The gates of the file that are not in force as they stand there.
fn untrusted(context: &CliContext, known: &[GateReport]) -> Vec<GateReport> {
    let project = &context.project;
    let loaded = config::load(&project.dirs, &project.user_dirs);
    let waits = loaded.waiting.iter().find(|waits| waits.key == "gates");
    let found = waits.and_then(|waits| waits.found.as_ref());
    let found = found.map(GateList::read).unwrap_or_default();
    let gates = found.gates.iter().map(GateInForce::from);
    let gates = gates.chain(found.unreadable.iter().map(GateInForce::from));
    let gates = gates.map(|gate| GateReport {
        trusted: false,
        ..GateReport::of(&gate, &Snapshot::default())
    });
    gates
        .filter(|gate| {
            let is_same = |one: &GateReport| {
                let terms = |gate: &GateReport| {
                    let how = (gate.setup.clone(), gate.isolated, gate.required);
                    let how = (how, gate.when.clone(), gate.unreadable.clone());
                    (gate.name.clone(), gate.cmd.clone(), how)
                };
                terms(one) == terms(gate)
            };
            !known.iter().any(is_same)
        })
        .collect()
}

fn run_gates(context: &CliContext, params: RunGatesParams) -> CliOutcome {
    let names = params.names.clone();
    let is_release = params.release;
    let command = Command::RunGates(params);
    let (report, ended) = wait_for(async {
        let live = operator::live(context, &command).await?;
        // Before minutes are spent: what is signed is shown first.
        if is_release
            && let Some(signing) = live.snapshot().await?.signing
            && signing.signs_acts()
            && let Some(refusal) = operator::asking_refusal()
        {
            return Err(refusal);
        }
        // Listened to before anything runs: who sees that it does may stop it.
        let mut interrupted = signal(SignalKind::interrupt())
            .map_err(|error| Failure::internal("watch signals", error))?;
        let begin = ask(&live, command);
        tokio::pin!(begin);
        let (begun, is_stopped) = tokio::select! {
            begun = &mut begin => (begun?, false),
            _ = interrupted.recv() => match timeout(BEGUN_WAIT, begin).await {
                Ok(begun) => (begun?, true),
                Err(_) => return Err(silent()),
            },
        };
        let interrupted = async {
            if !is_stopped {
                interrupted.recv().await;
            }
        };
        let Some(number) = begun.running.or(begun.ended.map(|ended| ended.run)) else {
            return Err(Failure::internal("run the gates", "the daemon began none"));
        };
        let (report, mut ended) = tokio::select! {
            ended = end_of(&live, number) => match ended {
                Err(failure) if is_lost_on_the_way(&failure) && !is_there(context).await => {
                    return Err(daemon_ended());
                }
                ended => ended?,
            },
            () = end_of_daemon(context, &live) => return Err(daemon_ended()),
            () = interrupted => {
                match live.ask(Command::StopGates).await {
                    // It is over already, and has its verdicts.
                    Err(failure) if !failure.is(&RefusalCode::WrongState) => return Err(failure),
                    _ => end_of(&live, number).await?,
                }
            }
        };
        if let Some(to_sign) = ended.to_sign.take() {
            ended.release = Some(sign(context, &live, &report, &ended, &to_sign).await?);
        }
        Ok::<_, Failure>((report, ended))
    })?;
    let mut ran = report.gates;
    // Where none is named, what cannot be run was meant as well.
    let is_meant = |gate: &GateReport| names.is_empty() && gate.unreadable.is_some();
    ran.retain(|gate| ended.names.contains(&gate.name) || is_meant(gate));
    let mut text = rows(&ran);
    tell_outcome(&mut text, &ended);
    if let Some(id) = &ended.release {
        text.line(format!("recorded as release gate {id}"));
    }
    match &ended.why {
        Some(why) => text.note(format!("not recorded, so that it proves nothing: {why}")),
        None if ended.stopped => text.note("stopped: what did not run proves nothing"),
        None if is_release && ended.release.is_none() => {
            text.note("the release gate could not be recorded, so that it proves nothing");
        }
        None => {}
    }
    // A gate that is named counts for the verdict, required or not.
    let is_named = |gate: &GateReport| names.contains(&gate.name);
    let is_green = |gate: &GateReport| gate.ok == Some(true) || !(gate.required || is_named(gate));
    // One that was taken out of trust during the run is told by nobody: nothing was shown of it.
    let is_told = |name: &String| ran.iter().any(|gate| gate.name == *name);
    // Where each of them is green its artifact may have failed all the same. A daemon of an earlier
    // version does not say what that came to.
    let has_passed = |said: &ReleaseOutcome| said.status == ArtifactStatus::Passed;
    let is_released = ended.release.is_some() && ended.outcome.as_ref().is_none_or(has_passed);
    let ok = !ended.stopped
        && ended.names.iter().chain(&names).all(is_told)
        && ran.iter().all(is_green)
        && (is_released || !is_release);
    let value = json!({"gates": ran, "release": ended.release, "outcome": ended.outcome,
        "stopped": ended.stopped, "why": ended.why});
    context.out.report(Report::new(&value, text).checked(ok))
}

/// What the artifact of a release gate says.
fn tell_outcome(text: &mut ReportText, ended: &EndedRun) {
    if let Some(said) = &ended.outcome {
        let tone = match said.status {
            ArtifactStatus::Passed => Tone::Good,
            _ => Tone::Bad,
        };
        let status = format!("release gate {}", said.status.as_str());
        text.spans(&[
            (tone, &status),
            (Tone::Plain, &format!(": {}", said.summary)),
        ]);
    }
}

/// Has the operator sign what a release gate came to, after it was shown, and has it recorded.
async fn sign(
    context: &CliContext,
    live: &Live,
    report: &GatesReport,
    ended: &EndedRun,
    to_sign: &ReleaseToSign,
) -> Result<EntryId, Failure> {
    let mut ran = report.gates.clone();
    ran.retain(|gate| ended.names.contains(&gate.name));
    let mut text = rows(&ran);
    tell_outcome(&mut text, ended);
    context.out.aside(text)?;
    let ReleaseToSign {
        subject,
        tree,
        verdict,
    } = to_sign;
    let act = OperatorAct::Release;
    let signature = operator_key::sign_act(context, live, act, subject, tree, verdict).await?;
    let Some(signature) = signature else {
        return Err(Failure::state(
            RefusalCode::NotSigned,
            "nothing is signed here any more",
            "run it again: `ctxrelay release-gate`",
        ));
    };
    let run = ended.run;
    let command = Command::SignRelease(SignReleaseParams { run, signature });
    let recorded: Recorded = live.ask_for(command).await?;
    Ok(recorded.entry_id)
}

/// Waits for the end of a run.
async fn end_of(live: &Live, number: u64) -> Result<(GatesReport, EndedRun), Failure> {
    loop {
        let report = ask(live, Command::ListGates).await?;
        let ended = report.ended.as_ref().filter(|ended| ended.run == number);
        if let Some(ended) = ended.cloned() {
            return Ok((report, ended));
        }
        if report.running != Some(number) {
            return Err(lost());
        }
        sleep(LOOK).await;
    }
}

/// Returns once no daemon is there any more. One that goes on in another process keeps its sockets,
/// so that it only answers late.
async fn end_of_daemon(context: &CliContext, live: &Live) {
    let mut connection = live.client.connection();
    loop {
        let lost = connection.wait_for(|state| !matches!(state, Connection::Connected(_)));
        if lost.await.is_err() || !is_there(context).await {
            return;
        }
        let back = connection.wait_for(|state| matches!(state, Connection::Connected(_)));
        // As long as a call waits for the connection: its end tells then.
        let _ = timeout(BACK_WAIT, back).await;
    }
}

async fn is_there(context: &CliContext) -> bool {
    !matches!(
        connect::operator(&context.project).await,
        DaemonFound::Nobody
    )
}

/// Whether a call found no daemon, or none that answered it.
fn is_lost_on_the_way(failure: &Failure) -> bool {
    [
        RefusalCode::DaemonEnded,
        RefusalCode::DaemonUnreachable,
        RefusalCode::Unanswered,
    ]
    .iter()
    .any(|code| failure.is(code))
}

fn daemon_ended() -> Failure {
    Failure::unavailable(
        RefusalCode::DaemonEnded,
        "the daemon ended while it ran the gates, and the gates with it: what has no verdict in the \
         record proves nothing",
        "start it with `ctxrelay`, or with `ctxrelay daemon --detach`; `ctxrelay gates list` says \
         what is recorded; then run the gates again",
    )
}

fn silent() -> Failure {
    Failure::unavailable(
        RefusalCode::Unanswered,
        "the daemon has not said whether it runs the gates",
        "see `ctxrelay gates list` once it answers",
    )
}

/// The daemon knows neither that it runs nor how it ended.
fn lost() -> Failure {
    Failure::state(
        RefusalCode::WrongState,
        "what this run came to is not known: the daemon went on in another process meanwhile, which \
         ended the run, or another run has begun and ended",
        "see `ctxrelay gates list` for what is recorded, and run the gates again",
    )
}

async fn ask(live: &Live, command: Command) -> Result<GatesReport, Failure> {
    live.ask_for(command).await
}

fn rows(gates: &[GateReport]) -> ReportText {
    let mut text = ReportText::new();
    for gate in gates {
        row(&mut text, gate);
    }
    text
}

fn row(out: &mut ReportText, gate: &GateReport) {
    let (tone, word) = match (gate.trusted, gate.status) {
        _ if gate.unreadable.is_some() => (Tone::Bad, "cannot run"),
        (false, _) => (Tone::Warning, "not trusted"),
        (true, None) => (Tone::Faint, "not run"),
        // Of one without a result nothing is told of a tree.
        (true, Some(ArtifactStatus::Skipped)) => (Tone::Warning, "stopped"),
        (true, Some(ArtifactStatus::Blocked)) => (Tone::Bad, "no result"),
        (true, Some(_)) if gate.stale => (Tone::Warning, "STALE"),
        (true, Some(ArtifactStatus::Passed)) if gate.other_tree => (Tone::Warning, "green"),
        (true, Some(ArtifactStatus::Passed)) => (Tone::Good, "green"),
        (true, Some(ArtifactStatus::TimedOut)) => (Tone::Bad, "timed out"),
        (true, Some(_)) => (Tone::Bad, "red"),
    };
    let mut how = Vec::new();
    how.extend(gate.unreadable.clone());
    if gate.unreadable.is_some() && !gate.trusted {
        how.push("not trusted".to_owned());
    }
    how.extend(gate.how.clone());
    if let Some(tree) = &gate.tree {
        let tree = short(&tree.tree, 13);
        how.push(match gate.other_tree {
            true => format!("on another tree ({tree}) than the work tree of now"),
            false => format!("tree {tree}"),
        });
    }
    if gate.ran_isolated || gate.isolated && gate.status.is_none() {
        how.push("in a work tree of its own".to_owned());
    }
    if let Some(gap) = &gate.not_covered {
        how.push(format!("did not cover {gap}"));
    }
    if !gate.when.is_empty() {
        how.push(format!("needed for {}", gate.when.join(", ")));
    }
    if gate.flaky {
        how.push("FLAKY: it differed on this tree before".to_owned());
    }
    if let Some(files) = &gate.rewritten {
        how.push(format!("REWRITTEN meanwhile: {files}"));
    }
    if let Some(seq) = gate.seq {
        how.push(match gate.ok {
            Some(true) => format!("entry {seq}"),
            _ => format!("`ctxrelay ledger show {seq} --full`"),
        });
    }
    if !gate.required {
        how.push("not required".to_owned());
    }
    out.spans(&[
        (tone, &format!("{word:<12}")),
        (Tone::Strong, &format!("{:<12} ", gate.name)),
        (Tone::Plain, &short(&gate.cmd, CMD_CHARS)),
        (Tone::Faint, &format!("  {}", how.join(" · "))),
    ]);
}
