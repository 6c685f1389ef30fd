//! [`run_as_text`]: the demo without a terminal: the timeline as lines, from the record itself.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::timeout;

use super::DemoError;
use super::play::{Ending, play};
use super::watch::Watch;
use super::world::{DemoWorld, set_up};
use crate::core::entry::{Entry, EntryKind};
use crate::host::Running;
use crate::store::head;
use crate::store::ledger::verify;
use crate::wire::control::{Command, LedgerListParams, Reply};

/// All steps of the daemon's orderly end; each has a deadline of its own.
const END_WAIT: Duration = Duration::from_secs(15);

/// Entries that are asked for at a time.
const PAGE: u32 = 100;

/// Runs the whole demo and gives each line to `print`: set up, play, the end of the daemon, a
/// check of its record. Everything is gone afterwards, also where `told_to_end` comes before.
///
/// # Errors
///
/// See [`DemoError`]; being told to end is [`DemoError::Interrupted`].
pub async fn run_as_text(
    own_program: PathBuf,
    speed: f64,
    print: impl Fn(&str),
    told_to_end: impl Future<Output = ()>,
) -> Result<(), DemoError> {
    let world = set_up(own_program, speed).await?;
    print("demo: two scripted agents on a throw-away project; no account, no network.");
    print("The daemon, the bridge and the record are the real ones.");
    print("");
    let running = world.project.start_daemon().await?;
    let told = tokio::select! {
        told = tell(&world, &running, &print) => told,
        () = told_to_end => Err(DemoError::Interrupted),
    };
    running.handle.shutdown(false).await;
    let ended = timeout(END_WAIT, running.handle.ended().cancelled()).await;
    told?;
    ended.map_err(|_| DemoError::InVain("the daemon's end"))?;
    let entries = check(&world)?;
    print("");
    print(&format!(
        "The record verifies: {entries} entries, hash-chained. The project is removed."
    ));
    print(
        "In the deck (`ctxrelay demo` in a terminal) you would now decide the proposal: `a` approves, `x` rejects.",
    );
    Ok(())
}

/// Plays and prints side by side; the entries of the last step are printed as well.
async fn tell(
    world: &DemoWorld,
    running: &Running,
    print: &impl Fn(&str),
) -> Result<(), DemoError> {
    let mut watch = Watch::open(&world.project, running).await?;
    let mut printed = 0;
    let played = {
        let playing = std::pin::pin!(play(world, running, Ending::Proposal));
        let reading = async {
            loop {
                print_new(&watch, &mut printed, print).await?;
                watch.news().await?;
            }
        };
        tokio::select! {
            played = playing => played,
            failed = reading => failed,
        }
    };
    print_new(&watch, &mut printed, print).await?;
    played
}

/// Prints the entries behind the last printed one.
async fn print_new(
    watch: &Watch,
    printed: &mut u64,
    print: &impl Fn(&str),
) -> Result<(), DemoError> {
    loop {
        let list = LedgerListParams {
            limit: Some(PAGE),
            ascending: true,
            after: (*printed > 0).then(|| printed.to_string()),
            ..LedgerListParams::default()
        };
        let Reply::Entries(page) = watch.call(Command::LedgerList(list)).await? else {
            return Err(DemoError::Record("the daemon lists no entries".to_owned()));
        };
        let before = *printed;
        for line in &page.entries {
            let unread = || DemoError::Record("the daemon lists what is no entry".to_owned());
            let entry = line.entry().ok_or_else(unread)?;
            if entry.seq.0 > *printed {
                *printed = entry.seq.0;
                print_entry(&entry, print);
            }
        }
        if page.cursor.is_none() || *printed == before {
            return Ok(());
        }
    }
}

/// Its first line beside time, parties and kind; the others below, indented.
fn print_entry(entry: &Entry, print: &impl Fn(&str)) {
    let time = jiff::Timestamp::from_millisecond(entry.timestamp_ms)
        .map(|time| {
            time.to_zoned(jiff::tz::TimeZone::system())
                .strftime("%T")
                .to_string()
        })
        .unwrap_or_default();
    let parties = match &entry.target {
        Some(target) => format!("{} → {target}", entry.source),
        None => entry.source.to_string(),
    };
    let mut lines = entry.content.lines();
    let first = lines.next().unwrap_or_default();
    print(&format!(
        "{time}  {parties:<15}  {:<10}  {first}",
        word(&entry.kind)
    ));
    for line in lines {
        print(&format!("{:39}{line}", ""));
    }
}

/// What an entry is, in a word for people.
fn word(kind: &EntryKind) -> &str {
    match kind {
        EntryKind::SessionStarted { .. } => "session",
        EntryKind::Message(message) if message.from_turn.is_some() => "answer",
        EntryKind::Message(_) => "message",
        EntryKind::Handoff(_) => "handoff",
        EntryKind::Note { note, .. } => note.as_str(),
        EntryKind::Artifact(_) => "artifact",
        EntryKind::FinalityProposal(_) => "proposal",
        EntryKind::FinalityDecision(_) => "decision",
        EntryKind::Delivery(_) => "delivery",
        EntryKind::AgentChanged(_) => "agent",
        EntryKind::Turn(_) => "turn",
        EntryKind::Approval(_) => "approval",
        EntryKind::Continuity(_) => "continuity",
        EntryKind::Finding(_) => "finding",
        EntryKind::Task(_) => "task",
        EntryKind::Lifecycle { .. } => "daemon",
        EntryKind::Error { .. } => "error",
        EntryKind::Other { entry_type, .. } => entry_type,
    }
}

/// Verifies the record that the daemon left; returns how many entries it has.
fn check(world: &DemoWorld) -> Result<u64, DemoError> {
    let dirs = &world.project.dirs;
    let failed = |error: std::io::Error| DemoError::Record(error.to_string());
    let session = crate::store::session::read_current(dirs)
        .map_err(failed)?
        .ok_or_else(|| DemoError::Record("no session is named".to_owned()))?;
    let outside = head::read(&world.project.user_dirs, &dirs.instance_id()).map_err(failed)?;
    let report = verify(&dirs.ledger(&session), outside.as_ref()).map_err(failed)?;
    if !report.ok || report.bad_lines > 0 || report.torn_bytes > 0 {
        return Err(DemoError::Record(format!("{report:?}")));
    }
    Ok(report.entries)
}
