//! `ctxrelay uninit`: undoes what `init` did. The record is removed only if it is named, because it
//! cannot be restored.

use std::fs;
use std::io::ErrorKind;
use std::iter;
use std::path::{Path, PathBuf};

use crate::cli::agents::claude::plugin_dir;
use crate::cli::connection::connect::{self, DaemonFound, runtime};
use crate::cli::connection::operator;
use crate::cli::connection::state_elsewhere::StateElsewhere;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::offline::alone::{not_taken, unwritable};
use crate::cli::setup::init::{InitState, InitStep, report, take_out};
use crate::cli::setup::instruction_files::{Homes, Plan};
use crate::store::dirs::{exists, make_private_dir};
use crate::store::owner::OwnerLock;
use crate::store::state_owner::{remove_state, state_elsewhere};
use crate::store::{head, operator_socket, registry, trust, unsent};
use crate::wire::control::ProgramCode;

/// The person's own words outside of the project.
const OF_UNSENT: &str = "what was not sent when a terminal was lost";

/// Stands between the record folder's name and the process that removes it.
const ASIDE: &str = ".removed-";

/// Arguments of `uninit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay uninit --dry-run")]
pub struct Args {
    /// Do not ask before a file with our block is changed
    #[arg(long)]
    pub yes: bool,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

pub fn run(context: &CliContext, args: &Args) -> CliOutcome {
    let project = &context.project;
    // To the end, however long the questions take: a daemon that began meanwhile would acknowledge
    // what goes with the folder.
    let _lock = match args.dry_run {
        true => None,
        false => alone_here(context)?,
    };
    let mut steps = Vec::new();
    let Plan { with, without, .. } = Plan::of(&project.dirs.root, &Homes::from_env());
    for name in with.iter().chain(&without) {
        steps.extend(take_out(context, name, args.yes, args.dry_run)?);
    }
    let plugin = plugin_dir(project);
    steps.push(remove(&plugin, "the Claude plugin", args.dry_run)?);
    steps.extend(record(context, args)?);
    report(context, &steps)
}

/// The project for this command alone; `None` where there is none.
fn alone_here(context: &CliContext) -> Result<Option<OwnerLock>, Failure> {
    let project = &context.project;
    let dirs = &project.dirs;
    let running = |what: String| {
        let hint = "stop it first, with `ctxrelay kill`";
        Err(Failure::state(ProgramCode::Running, what, hint))
    };
    match runtime()?.block_on(connect::control(project)) {
        DaemonFound::Live(_) => return running("a daemon runs for this project".to_owned()),
        DaemonFound::Unfit(why) => {
            let what = format!("a daemon runs for this project and cannot be asked: {why}");
            return running(what);
        }
        DaemonFound::Nobody => {}
    }
    if let Some(elsewhere) = StateElsewhere::of(project) {
        return Err(elsewhere.failure());
    }
    if !exists(&dirs.relay) {
        return Ok(None);
    }
    make_private_dir(&dirs.state).map_err(|error| unwritable(dirs, error))?;
    match OwnerLock::try_acquire(dirs).map_err(|error| not_taken(dirs, &error))? {
        Some(lock) => Ok(Some(lock)),
        None => running("a daemon of this project is just starting or ending".to_owned()),
    }
}

/// The record is the operator's: to end it needs a terminal and its name typed. What is derived from
/// it holds its words too, wherever that lies.
fn record(context: &CliContext, args: &Args) -> Result<Vec<InitStep>, Failure> {
    let (dirs, user) = (&context.project.dirs, &context.project.user_dirs);
    let instance_id = dirs.instance_id();
    let name = ".contextrelay/ with the whole record".to_owned();
    let mut folders = vec![(&*dirs.relay, name)];
    let elsewhere = state_elsewhere(dirs);
    if let Some(state) = elsewhere {
        folders.push((state, format!("its state in {}", state.display())));
    }
    let cut_short = of_a_stopped_uninit(&dirs.relay);
    folders.extend(cut_short.iter().map(|dir| (&**dir, of_cut_short(dir))));
    // Without the record it would raise an alarm that the record is gone.
    let head = user.head(&instance_id);
    let of_head = format!("what is known of the record in {}", head.display());
    if exists(&head) {
        folders.push((&*head, of_head.clone()));
    }
    let all = |state: InitState, why: &str| -> Vec<InitStep> {
        let steps = folders.iter();
        let step = |(place, name): &(&Path, String)| match exists(place) {
            true => InitStep::new(format!("{name}{why}"), state),
            false => InitStep::new(name.clone(), InitState::Absent),
        };
        steps.map(step).collect()
    };
    if folders.iter().all(|(dir, _)| !exists(dir)) {
        return Ok(all(InitState::Absent, ""));
    }
    if args.dry_run {
        return Ok(all(InitState::Would, ""));
    }
    if operator::asking_refusal().is_some() {
        let why = "; it goes only from a terminal of your own";
        return Ok(all(InitState::Left, why));
    }
    let records = iter::once(&dirs.relay).chain(&cut_short);
    let records = records.filter(|dir| exists(dir));
    let mut places: Vec<String> = records.map(|dir| dir.display().to_string()).collect();
    places.extend(elsewhere.map(|state| format!("its state in {}", state.display())));
    let was_known = exists(&head);
    places.extend(was_known.then(|| of_head.clone()));
    let had_unsent = unsent::is_kept(user, &instance_id);
    places.extend(had_unsent.then(|| OF_UNSENT.to_owned()));
    let what = match folders.iter().any(|(dir, _)| *dir != &*head && exists(dir)) {
        true => format!(
            "This deletes {} for good, archives included.",
            places.join(" and ")
        ),
        false => format!(
            "The record is gone already. This deletes {of_head}: no start tells then that there \
             was one."
        ),
    };
    match operator::confirm(context, &what, "delete") {
        Ok(()) => {}
        Err(failure) if failure.code == ProgramCode::NotConfirmed.into() => {
            return Ok(all(InitState::Left, ""));
        }
        Err(failure) => return Err(failure),
    }
    // The record last: where something stays before it, the command can be run again. It is gone from
    // its place before what is known of it outside: a stop between the two must leave neither a
    // record that nobody vouches for nor one that is missed.
    let with_state = elsewhere.map(remove_elsewhere).transpose()?;
    let relay = set_aside(&dirs.relay)?;
    if let Err(error) = head::forget(user, &instance_id) {
        if relay != *dirs.relay
            && let Err(error) = fs::rename(&relay, &dirs.relay)
        {
            return Err(Failure::unwritable(
                &dirs.relay,
                error,
                "make it writable for you",
            ));
        }
        return Err(Failure::unwritable(
            &head,
            error,
            "make it writable for you",
        ));
    }
    let mut steps = vec![remove(&relay, &folders[0].1, false)?];
    steps.extend(with_state);
    steps.extend(was_known.then(|| InitStep::new(of_head, InitState::Removed)));
    unsent::forget(user, &instance_id)
        .map_err(|error| Failure::unwritable(&user.unsent(), error, "make it writable for you"))?;
    steps.extend(had_unsent.then(|| InitStep::new(OF_UNSENT.to_owned(), InitState::Removed)));
    operator_socket::remove(user, dirs);
    registry::forget(user, dirs)
        .map_err(|error| Failure::internal("forget the project in the registry", error))?;
    trust::forget(user, &instance_id)
        .map_err(|error| Failure::internal("forget what was trusted of the project", error))?;
    // Nothing hangs on what is left of an earlier one.
    steps.extend(cut_short.iter().map(|dir| {
        let what = of_cut_short(dir);
        remove(dir, &what, false).unwrap_or_else(|why| {
            InitStep::new(format!("{what}: {}", why.message), InitState::Left)
        })
    }));
    steps.extend(signer_stays(&user.signer(&instance_id)));
    Ok(steps)
}

/// Moves a folder out of its place in one step, and says where it is then.
fn set_aside(folder: &Path) -> Result<PathBuf, Failure> {
    let about = folder.symlink_metadata();
    if !about.is_ok_and(|about| about.is_dir()) {
        return Ok(folder.to_owned());
    }
    let mut name = folder.as_os_str().to_owned();
    name.push(format!("{ASIDE}{}", std::process::id()));
    let aside = PathBuf::from(name);
    match fs::rename(folder, &aside) {
        Ok(()) => Ok(aside),
        // A disk of its own is mounted there.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::ResourceBusy | ErrorKind::CrossesDevices
            ) =>
        {
            Ok(folder.to_owned())
        }
        Err(error) => Err(Failure::unwritable(
            folder,
            error,
            "make it writable for you",
        )),
    }
}

/// What [`set_aside`] moved, of processes that ended before they had removed it.
fn of_a_stopped_uninit(folder: &Path) -> Vec<PathBuf> {
    let Some((parent, name)) = folder.parent().zip(folder.file_name()) else {
        return Vec::new();
    };
    let is_left = |entry: &fs::DirEntry| {
        let found = entry.file_name();
        let of_process = found.to_str().zip(name.to_str());
        let of_process = of_process
            .and_then(|(found, name)| found.strip_prefix(name)?.strip_prefix(ASIDE)?.parse().ok());
        of_process.is_some_and(|pid: u32| pid > 0) && entry.file_type().is_ok_and(|it| it.is_dir())
    };
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    entries.filter(is_left).map(|entry| entry.path()).collect()
}

fn of_cut_short(dir: &Path) -> String {
    format!(
        "what an `uninit` that was stopped left in {}",
        dir.display()
    )
}

/// What is known of the key that signed is no part of the record: a process of an agent's that found a
/// way to end the record here would else begin one in which it decides without the key, and nobody
/// would hear of that.
fn signer_stays(path: &Path) -> Option<InitStep> {
    let what = || {
        format!(
            "{}, which knows the key that signed here: a new record goes on with that key and has an \
             alarm that it was lost; remove the file yourself if you want neither",
            path.display()
        )
    };
    exists(path).then(|| InitStep::new(what(), InitState::Left))
}

/// The state in a folder that is named for it, and that may hold something else.
fn remove_elsewhere(state: &Path) -> Result<InitStep, Failure> {
    let what = format!("its state in {}", state.display());
    match remove_state(state) {
        Ok(true) => Ok(InitStep::new(what, InitState::Removed)),
        Ok(false) => {
            let what = format!("{what}; what else lies there stays");
            Ok(InitStep::new(what, InitState::Removed))
        }
        Err(error) => Err(Failure::unwritable(
            state,
            error,
            "make it writable for you",
        )),
    }
}

fn remove(dir: &Path, what: &str, dry_run: bool) -> Result<InitStep, Failure> {
    let step = |state| Ok(InitStep::new(what, state));
    match dir.symlink_metadata() {
        Err(_) => step(InitState::Absent),
        Ok(_) if dry_run => step(InitState::Would),
        Ok(found) if !found.is_dir() => step(InitState::Left),
        Ok(_) => {
            fs::remove_dir_all(dir).map_err(|error| {
                Failure::state(
                    ProgramCode::Unwritable,
                    format!("cannot remove {}: {error}", dir.display()),
                    "make it writable for you",
                )
            })?;
            step(InitState::Removed)
        }
    }
}
