//! `ctxrelay continuity pack`: what the record holds of the agents' work, as files.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::adapters::work_files_now::work_folders;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure, START_ONE};
use crate::cli::offline::alone::unwritable;
use crate::cli::offline::disk;
use crate::cli::report::{Report, ReportText};
use crate::cli::text::masking::Masking;
use crate::cli::text::words::count;
use crate::core::agent::Agent;
use crate::core::id::RuntimeSession;
use crate::host::ProjectContext;
use crate::store::work_folders::{WorkFolders, recent_work};

/// A folder that was written.
pub(in crate::cli) struct PackedFolder {
    agent: Agent,
    pair: RuntimeSession,
    path: PathBuf,
    files: Vec<String>,
}

pub(super) fn run(context: &CliContext) -> CliOutcome {
    let folders = pack(&context.project)?;
    let mut text = ReportText::new();
    if folders.is_empty() {
        text.line("the record knows nothing of the agents' work, and there are no files of it");
    }
    for folder in &folders {
        let files = count(folder.files.len() as u64, "file", "files");
        let (agent, path) = (folder.agent.title(), folder.path.display());
        text.line(format!("{agent}: {files} in {path}"));
    }
    let folders = folders.iter().map(|folder| {
        json!({
            "agent": folder.agent,
            "runtimeSession": folder.pair,
            "path": folder.path,
            "files": folder.files,
        })
    });
    let value = json!({"folders": folders.collect::<Vec<Value>>()});
    context.out.report(Report::new(&value, text))
}

/// Writes all of the files, and removes others that lie beside them.
///
/// # Errors
///
/// When there is no record, or it cannot be read, or the folders cannot be written, or the redaction
/// rules cannot all be read.
pub(in crate::cli) fn pack(project: &ProjectContext) -> Result<Vec<PackedFolder>, Failure> {
    let dirs = &project.dirs;
    let reading = disk::current_reading(project)?.ok_or_else(|| Failure::no_session(START_ONE))?;
    let unreadable = |error| disk::unreadable(reading.path(), &error);
    let masking = Masking::load(project);
    masking.check_to_go_out()?;
    let redactor = masking.redactor();
    let page = |filter: &_, limit| reading.page(filter, None, false, limit);
    let recent = recent_work(page).map_err(unreadable)?;
    let read = |seq| Ok(reading.read(seq)?.map(|stored| stored.entry));
    let folders = work_folders(&dirs.root, reading.snapshot(), &redactor, &recent, read);
    let folders = folders.map_err(unreadable)?;
    let place = WorkFolders::of(dirs);
    let unwritable = |error| unwritable(dirs, error);
    place.write(&folders).map_err(unwritable)?;
    // A record that was deleted meanwhile leaves nothing behind.
    let still = disk::current_reading(project)?;
    if still.is_none_or(|still| still.path() != reading.path()) {
        place.remove().map_err(unwritable)?;
        return Ok(Vec::new());
    }
    let packed = folders.into_iter().map(|folder| PackedFolder {
        path: place.path(&folder),
        agent: folder.agent,
        pair: folder.pair,
        files: folder.files.into_iter().map(|(name, _)| name).collect(),
    });
    Ok(packed.collect())
}
