//! What is known of a project without a daemon: [`current`], [`status`].
//!
//! Only reads; never writes, locks or repairs.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use crate::adapters::claude::hooks_switch::hooks_off;
use crate::cli::exit::{Failure, START_ONE};
use crate::cli::offline::newer_state::{last_line, newer_state};
use crate::cli::offline::seen_claude::cut_off_turns;
use crate::cli::text::words::{count, now_ms};
use crate::core::agent::Agent;
use crate::core::delivery::DeliveryWay;
use crate::core::entry::DeliveryResult;
use crate::core::id::{RuntimeSession, SessionId};
use crate::core::policy::{ClaudeHooks, PolicyRules, SignOffMode};
use crate::core::snapshot::Snapshot;
use crate::host::ProjectContext;
use crate::store::config;
use crate::store::dirs::{ProjectDirs, exists};
use crate::store::disk_space::DiskSpace;
use crate::store::head::{self, Kept};
use crate::store::ledger::{self, Border, Reading};
use crate::store::{owner, registry, sentinel, session, trust};
use crate::wire::config::trusted_policy;
use crate::wire::control::{DeliveryMode, PROTOCOL, ProgramCode, RefusalCode};
use crate::wire::status::{
    CHAIN_BROKEN, ChainState, ClaudeStatus, CodexStatus, ContinuityStatus, FinalityStatus,
    FindingsStatus, HandoffsStatus, HeadStatus, LaneStatus, LedgerStatus, PolicyStatus, Status,
    TasksStatus,
};

/// A ledger above this is not read as a whole for `status`, which should answer within 20 ms.
const WHOLE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// What is said where the file is not the record.
const TOUCHED: &str = "somebody else was at the record while no daemon ran: what is not vouched \
                       for from outside of the project is not believed here (`ctxrelay ledger \
                       verify`)";

/// What is kept of the project outside of it. What is no head counts as none, as for a daemon.
fn kept(project: &ProjectContext) -> Option<Kept> {
    head::read(&project.user_dirs, &project.dirs.instance_id()).unwrap_or_else(|error| {
        tracing::warn!(%error, "the outside head cannot be read");
        None
    })
}

/// What is kept of the project outside of it, for who compares a record with it.
///
/// # Errors
///
/// When it cannot be read: nothing says then what the record should end with.
pub fn outside_head(project: &ProjectContext) -> Result<Option<Kept>, Failure> {
    let id = project.dirs.instance_id();
    let kept = head::read(&project.user_dirs, &id);
    kept.map_err(|error| unreadable(&project.user_dirs.head(&id), &error))
}

/// The current session and its file: the one whose head is kept outside of the project, or else
/// the one that `current` names.
///
/// # Errors
///
/// When `current` cannot be read.
pub fn current(project: &ProjectContext) -> Result<Option<(SessionId, PathBuf)>, Failure> {
    let dirs = &project.dirs;
    let kept = kept(project);
    if let Some(Kept { head, .. }) = &kept {
        let path = dirs.ledger(&head.session_id);
        if exists(&path) {
            return Ok(Some((head.session_id.clone(), path)));
        }
    }
    let session =
        session::read_current(dirs).map_err(|error| unreadable(&dirs.current(), &error))?;
    let lost = kept.filter(|kept| kept.is_lost(dirs));
    let session = session.or_else(|| lost.map(|lost| lost.head.session_id));
    Ok(session.map(|session| {
        let path = dirs.ledger(&session);
        (session, path)
    }))
}

/// The file of a session, current, earlier or archived.
///
/// # Errors
///
/// When the text is no session id, or there is no such session.
pub fn session_file(dirs: &ProjectDirs, session: &str) -> Result<PathBuf, Failure> {
    let missing = || {
        Failure::state(
            RefusalCode::NotFound,
            format!("there is no session `{session}`"),
            "see the names in .contextrelay/sessions and .contextrelay/archives",
        )
    };
    if !SessionId::is_well_formed(session) {
        return Err(missing());
    }
    [dirs.sessions(), dirs.archives()]
        .into_iter()
        .map(|dir| dir.join(format!("{session}.jsonl")))
        // What is no file has to be found as well, to be told what it is.
        .find(|path| exists(path))
        .ok_or_else(missing)
}

/// The file of the session that is asked for, or of the current one.
///
/// # Errors
///
/// When there is no such session, or none yet.
pub fn record_file(project: &ProjectContext, session: Option<&str>) -> Result<PathBuf, Failure> {
    match session {
        Some(session) => session_file(&project.dirs, session),
        None => match current(project)? {
            Some((_, path)) if exists(&path) => Ok(path),
            Some((session, _)) => Err(gone(&session)),
            None => Err(Failure::no_session(START_ONE)),
        },
    }
}

/// The current session has no file.
pub fn gone(session: &SessionId) -> Failure {
    Failure::state(
        ProgramCode::Unreadable,
        format!("the file of {session} is gone"),
        "put it back, or start the daemon: it says what is missing, and goes on with the session before, or with a new one",
    )
}

/// The ledger of a session, at random places.
///
/// # Errors
///
/// When there is no such session, or its file cannot be read.
pub fn reading(project: &ProjectContext, session: &str) -> Result<Reading, Failure> {
    let path = session_file(&project.dirs, session)?;
    believed(project, &SessionId::new(session), &path).map_err(|error| unreadable(&path, &error))
}

/// A ledger up to where it is believed, as a daemon would that starts now.
fn believed(project: &ProjectContext, session: &SessionId, path: &Path) -> io::Result<Reading> {
    let ProjectContext {
        dirs, user_dirs, ..
    } = project;
    let is_known = registry::is_known(user_dirs, dirs).unwrap_or(false);
    let once = || {
        let border = Border::new(kept(project).as_ref(), session, is_known, path);
        let checkpoint = ledger::read_checkpoint(dirs, user_dirs);
        Reading::open(path, session, checkpoint, Some(&border))
    };
    let reading = once()?;
    // A daemon that works is just ahead of the head outside: it has moved on by now.
    if reading.is_whole() || !owner::is_owned(dirs) {
        return Ok(reading);
    }
    once()
}

/// How far the file of a session is the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordReach {
    /// Where the last line ends that is believed; the largest number where nothing outside of the
    /// project knows of this session, as of an archived one.
    pub bytes: u64,
    /// How many lines stand behind that.
    pub foreign_lines: u64,
}

impl RecordReach {
    /// What a reader of its content has to be told.
    pub fn remark(self) -> Option<String> {
        (self.foreign_lines > 0).then(|| {
            format!(
                "{} behind the end of the record: nothing outside of the project vouches for \
                 that, it is nobody's word and was left out (`ctxrelay ledger verify`)",
                count(self.foreign_lines, "line stands", "lines stand")
            )
        })
    }
}

/// How far the file of a session is believed.
///
/// # Errors
///
/// When it cannot be read.
pub fn reach(
    project: &ProjectContext,
    session: &SessionId,
    path: &Path,
) -> io::Result<RecordReach> {
    reach_with(project, session, path).map(|(reach, _)| reach)
}

/// As [`reach`], with the record as far as it is believed; without it where nothing outside of the
/// project knows of this session.
///
/// # Errors
///
/// As [`reach`].
pub fn reach_with(
    project: &ProjectContext,
    session: &SessionId,
    path: &Path,
) -> io::Result<(RecordReach, Option<Reading>)> {
    if kept(project).is_none_or(|kept| kept.head.session_id != *session) {
        let reach = RecordReach {
            bytes: u64::MAX,
            foreign_lines: 0,
        };
        return Ok((reach, None));
    }
    let reading = believed(project, session, path)?;
    let reach = RecordReach {
        bytes: reading.stats().bytes,
        foreign_lines: reading.foreign_lines()?,
    };
    Ok((reach, Some(reading)))
}

/// The record of the current session, up to where it is believed; `None` while there is none.
///
/// # Errors
///
/// When its file cannot be read.
pub fn current_reading(project: &ProjectContext) -> Result<Option<Reading>, Failure> {
    let Some((session, path)) = current(project)? else {
        return Ok(None);
    };
    match believed(project, &session, &path) {
        Ok(reading) => Ok(Some(reading)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(gone(&session)),
        Err(error) => Err(unreadable(&path, &error)),
    }
}

/// The folded world of the current session.
///
/// # Errors
///
/// As [`current_reading`].
pub fn snapshot(project: &ProjectContext) -> Result<Snapshot, Failure> {
    let reading = current_reading(project)?;
    Ok(reading.map_or_else(Snapshot::default, |reading| reading.snapshot().clone()))
}

/// A file of ours that cannot be read.
pub fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "name a file that is there",
        io::ErrorKind::PermissionDenied => "make it readable for you",
        io::ErrorKind::IsADirectory => "see that it is a file of yours, and no folder",
        _ => "see that it is a file of yours and no link",
    };
    Failure::state(
        ProgramCode::Unreadable,
        format!("cannot read {}: {error}", path.display()),
        hint,
    )
}

/// The rules that are trusted; no agent is known to keep to one while no daemon runs. What switches
/// Claude's hooks off is that of one that would be started here.
pub fn policy_on_disk(project: &ProjectContext) -> PolicyStatus {
    let rules = trusted_rules(project);
    let here = env::current_dir().ok();
    PolicyStatus {
        coordinator: rules.coordinator,
        read_only: false,
        tools_read_only: rules.read_only,
        rules: rules.in_force(&match hooks_off(&project.dirs.root, here.as_deref()) {
            Some(off) => off.into(),
            None => ClaudeHooks::NotSeen,
        }),
    }
}

/// Who says that work is done, as it is trusted.
pub fn sign_off_on_disk(project: &ProjectContext) -> SignOffMode {
    trusted_rules(project).sign_off
}

/// The notices of the configuration tell it where they cannot be read.
fn trusted_rules(project: &ProjectContext) -> PolicyRules {
    let trusted = trust::read(&project.user_dirs, &project.dirs.instance_id());
    trusted_policy(&trusted.unwrap_or_default().keys)
}

/// The status as far as the disk tells.
///
/// # Errors
///
/// When the current ledger cannot be read.
pub fn status(project: &ProjectContext) -> Result<Status, Failure> {
    let dirs = &project.dirs;
    let mut status = Status {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: PROTOCOL,
        instance_id: dirs.instance_id(),
        project_root: dirs.root.display().to_string(),
        state_dir: dirs.state.display().to_string(),
        finality: FinalityStatus::of(&Snapshot::default(), sign_off_on_disk(project)),
        policy: policy_on_disk(project),
        ..Status::default()
    };
    status.agents.claude = ClaudeStatus {
        installed: project.claude_program.find().is_some(),
        ..ClaudeStatus::default()
    };
    status.agents.claude.delivery.mode = project.mode.into();
    status.agents.claude.delivery.rung = DeliveryWay::None;
    status.agents.codex = CodexStatus {
        installed: project.codex_program.find().is_some(),
        ..CodexStatus::default()
    };
    status.agents.codex.delivery.mode = DeliveryMode::Auto.into();
    status.agents.codex.delivery.rung = DeliveryWay::None;
    if sentinel::is_killed(dirs) {
        status.notices.push(
            "stopped by the operator: the agents stay away until `ctxrelay`, `daemon`, `claude`, \
             `codex` or `pair` starts it again"
                .to_owned(),
        );
    }
    if let Some(newer) = newer_state(project) {
        status.notices.push(format!("{newer}: {}", newer.hint()));
    }
    let loaded = config::load(dirs, &project.user_dirs);
    status.notices.extend(loaded.notices());
    let space = DiskSpace::new(dirs, loaded.config.storage);
    space.measure();
    let notices = [space.disk_notice(), space.blobs_notice()];
    status.notices.extend(notices.into_iter().flatten());
    let Some((session, path)) = current(project)? else {
        status.ledger.chain = ChainState::Ok;
        return Ok(status);
    };
    let kept = kept(project);
    let lost = kept.as_ref().filter(|kept| kept.is_lost(dirs));
    let mut lost = lost.map(|kept| kept.head.session_id.clone());
    status.session_id = Some(session.clone());
    status.ledger.path = path.display().to_string();
    match path.symlink_metadata() {
        Ok(found) if found.len() > WHOLE_BYTES_MAX => {
            let end = tail(&path).map_err(|error| unreadable(&path, &error))?;
            large(&mut status, end, kept.as_ref(), &session);
            status.notices.push(
                "the record is large: without a daemon its chain, handoffs, tasks, proposals and \
                 what was cut off are not counted here; see `ctxrelay ledger verify` and \
                 `ctxrelay recover`"
                    .to_owned(),
            );
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => lost = Some(session),
        _ => {
            let reading = believed(project, &session, &path);
            whole(
                &mut status,
                &reading.map_err(|error| unreadable(&path, &error))?,
            );
        }
    }
    if let Some(lost) = lost {
        status.ledger.chain = ChainState::Broken;
        let Failure { message, hint, .. } = gone(&lost);
        status.notices.push(format!("{message}: {hint}"));
    }
    Ok(status)
}

/// Of a large ledger, whose end was read. Which of its last lines are believed only reading all of
/// them tells, so that what is kept outside says how far it goes.
fn large(status: &mut Status, mut end: LedgerStatus, kept: Option<&Kept>, session: &SessionId) {
    if let Some(kept) = kept.filter(|kept| kept.head.session_id == *session) {
        let is_last =
            |head: &HeadStatus| (head.seq, &head.hash) == (kept.head.seq, &kept.head.hash);
        if kept.clean && !end.head.as_ref().is_some_and(is_last) {
            status.notices.push(TOUCHED.to_owned());
        }
        end.entries = kept.head.seq;
        end.head = (kept.head.seq > 0).then(|| HeadStatus {
            seq: kept.head.seq,
            hash: kept.head.hash.clone(),
        });
    }
    status.ledger = end;
}

fn whole(status: &mut Status, reading: &Reading) {
    let (world, stats) = (reading.snapshot(), reading.stats());
    let of = |agent| {
        let state = world.told_of(agent, &RuntimeSession::default());
        ContinuityStatus::of(&state, None)
    };
    status.agents.claude.continuity = of(Agent::Claude);
    status.agents.codex.continuity = of(Agent::Codex);
    let is_ok = stats.chain_ok && reading.is_whole();
    if !reading.is_whole() {
        status.notices.push(TOUCHED.to_owned());
    } else if !stats.chain_ok {
        status.notices.push(CHAIN_BROKEN.to_owned());
    }
    let alarms: Vec<String> = world.open_alarms().map(|open| open.alarm.text()).collect();
    let is_touched = !alarms.is_empty();
    status.notices.extend(alarms);
    status.ledger = LedgerStatus {
        path: reading.path().display().to_string(),
        entries: stats.entries,
        bytes: stats.bytes,
        chain: match chain_state(is_ok, stats.head.is_some(), stats.entries) {
            ChainState::Ok if is_touched => ChainState::Touched,
            state => state,
        },
        head: stats.head.map(|(seq, hash)| HeadStatus { seq, hash }),
        bad_lines: stats.bad_lines,
    };
    status.tasks = TasksStatus::of(world, now_ms());
    status.handoffs = HandoffsStatus::of(world);
    status.findings = FindingsStatus::of(world);
    let open = world.open_approvals.values();
    status.approvals.pending = open.filter(|asked| asked.outlives_daemon()).count() as u64;
    let current = world.current_task(&RuntimeSession::default());
    status.capsule = current.map(|task| task.id.clone());
    status.finality = FinalityStatus {
        mode: std::mem::take(&mut status.finality.mode),
        ..FinalityStatus::of(world, SignOffMode::default())
    };
    let mut later = world.clone();
    cut_off_turns(&mut later, now_ms());
    let (claude, codex) = (&mut status.agents.claude, &mut status.agents.codex);
    for (id, message) in later.cut_off {
        let (count, ids) = match message.to {
            Agent::Claude => (&mut claude.cut_off, &mut claude.cut_off_ids),
            Agent::Codex => (&mut codex.cut_off, &mut codex.cut_off_ids),
        };
        *count += 1;
        ids.push(id);
    }
    status.queue.claude = lane(world, Agent::Claude);
    status.queue.codex = lane(world, Agent::Codex);
}

fn chain_state(ok: bool, chained: bool, entries: u64) -> ChainState {
    match (ok, chained || entries == 0) {
        (false, _) => ChainState::Broken,
        (true, true) => ChainState::Ok,
        (true, false) => ChainState::Unchained,
    }
}

/// What the record knows of messages; attempts are in the queue alone.
fn lane(world: &Snapshot, agent: Agent) -> LaneStatus {
    let mut lane = LaneStatus::default();
    for message in world
        .unsettled
        .values()
        .filter(|message| message.to == agent)
    {
        match message.result {
            Some(DeliveryResult::Ambiguous) => lane.ambiguous += 1,
            None | Some(DeliveryResult::Requeued) => lane.pending += 1,
            _ => {}
        }
    }
    lane
}

/// The last entry of a large ledger. Its number counts the lines before it.
fn tail(path: &Path) -> io::Result<LedgerStatus> {
    let (bytes, last) = last_line(path)?;
    let link = last.and_then(|line| line.link);
    Ok(LedgerStatus {
        path: path.display().to_string(),
        entries: link.as_ref().map_or(0, |link| link.seq),
        bytes,
        head: link.map(|link| HeadStatus {
            seq: link.seq,
            hash: link.hash,
        }),
        chain: ChainState::Unchecked,
        bad_lines: 0,
    })
}
