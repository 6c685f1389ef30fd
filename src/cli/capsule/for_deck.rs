//! What the deck reads and writes of tasks, as `list`, `show`, `export` and `handoff` do.

use std::sync::Arc;
use std::time::Duration;

use ctxrelay_ui::model as ui;

use super::LISTED;
use super::alike::goes_into;
use super::check::why;
use super::export::{export_of, file_name, levels_out, went_along, with_along, write};
use super::handoff::{as_handoff, goes_along};
use super::maker::{CapsuleMaker, MadeCapsule};
use super::show::{changed, sections};
use crate::adapters::capsules_now::Along;
use crate::adapters::git::deadline::GitDeadline;
use crate::adapters::git::now::GitNeed;
use crate::cli::connection::operator;
use crate::cli::exit::Failure;
use crate::cli::record::search::find_alike;
use crate::core::agent::Agent;
use crate::core::capsule::{
    CapsuleDraft, CapsuleStatus, FoundText, Freshness, RENDER_CHARS_MAX, RenderTarget, RenderTerms,
    Rendering, StandsNow,
};
use crate::deck::calls::capsules::{CapsuleAccess, HandedTask, standing};
use crate::host::ProjectContext;
use crate::store::capsules::CapsuleOwner;
use crate::wire::control::{ProgramCode, TaskChange};

/// How long git may take for what is only looked at: as long as one `git` may by itself, or the first
/// look at a large work tree would never end.
const GIT_WAIT: Duration = Duration::from_secs(20);

pub(in crate::cli) fn access(project: &ProjectContext) -> CapsuleAccess {
    let of = || project.clone();
    let (list, read, export, like) = (of(), of(), of(), of());
    let (hand, tell, keep, before) = (of(), of(), of(), of());
    // Hints name options of the commands.
    let said = |failure: Failure| failure.message;
    CapsuleAccess {
        runtime_session: project.runtime_session.clone(),
        list: Arc::new(move || rows(&list).map_err(said)),
        read: Arc::new(move |id| view(&read, id).map_err(said)),
        export: Arc::new(move |id, file, along, record| {
            exported(&export, id, file, along, record).map_err(said)
        }),
        alike: Arc::new(move |id| alike(&like, id).map_err(said)),
        before: Arc::new(move |words| said_before(&before, words).map_err(said)),
        handoff: Arc::new(move |id, to, found| handoff(&hand, id, to, found).map_err(said)),
        tell: Arc::new(move |id, to| told(&tell, id, to).map_err(said)),
        keep: Arc::new(move |id| kept(&keep, id).map_err(said)),
    }
}

fn rows(project: &ProjectContext) -> Result<ui::CapsuleRows, Failure> {
    let maker = CapsuleMaker::open(project)?;
    let mut places = maker.places();
    let total = places.len() as u64;
    places.truncate(LISTED as usize);
    let ids = places.iter().map(|place| &place.id);
    maker.ask_git_ahead(ids, GitDeadline::within(GIT_WAIT));
    let ids = places.into_iter().map(|place| place.id);
    let rows = ids.map(|id| match maker.freshness(&id) {
        Ok((made, freshness)) => row(&maker, project, &maker.shown(made), freshness),
        Err(failure) => ui::CapsuleLine {
            id: id.to_string(),
            broken: Some(failure.message),
            ..ui::CapsuleLine::default()
        },
    });
    let rows = rows.collect();
    Ok(ui::CapsuleRows { rows, total })
}

fn row(
    maker: &CapsuleMaker,
    project: &ProjectContext,
    made: &MadeCapsule,
    freshness: Freshness,
) -> ui::CapsuleLine {
    let capsule = &made.capsule;
    let current = maker.world.current_task(&project.runtime_session);
    ui::CapsuleLine {
        id: capsule.id.to_string(),
        title: capsule.title.clone(),
        is_open: capsule.status == CapsuleStatus::Open,
        is_current: current.is_some_and(|task| task.id == capsule.id),
        is_foreign: made.owner == CapsuleOwner::Foreign,
        standing: standing(freshness),
        file: format!(
            "{}{}",
            "../".repeat(levels_out(&project.dirs.root)),
            file_name(capsule).display()
        ),
        bytes: made.bytes.len() as u64,
        findings: capsule.findings.len() as u64,
        broken: None,
    }
}

fn view(project: &ProjectContext, id: &str) -> Result<ui::CapsuleView, Failure> {
    let maker = CapsuleMaker::open(project)?;
    let named = maker.id_of(id)?;
    maker.ask_git_ahead([named].iter(), GitDeadline::within(GIT_WAIT));
    let mut made = maker.named(id)?;
    let stands = maker.compare_last(&mut made);
    made.remarks.extend(maker.masking_remark());
    let made = maker.shown(made);
    let remarks = ("Remarks", made.remarks.clone());
    let remarks = Some(remarks).filter(|(_, rows)| !rows.is_empty());
    let parts = remarks.into_iter().chain(changed(&stands));
    let parts = parts.chain(sections(&made));
    let origin = &made.capsule.origin;
    Ok(ui::CapsuleView {
        row: row(&maker, project, &made, stands.freshness),
        why: why(&stands),
        parts: parts
            .map(|(title, rows)| ui::CapsulePart {
                title: title.to_owned(),
                rows,
            })
            .collect(),
        origin: format!(
            "{}, session {}, entry {}",
            origin.project, origin.session, origin.head.seq
        ),
        digest: made.capsule.digest.clone(),
        draft: CapsuleDraft::of(&made.capsule).text(),
    })
}

fn exported(
    project: &ProjectContext,
    id: &str,
    file: &str,
    along: ui::CapsuleAlong,
    record: &dyn Fn(TaskChange) -> Result<(), String>,
) -> Result<Vec<String>, Failure> {
    if let Some(refusal) = operator::own_refusal() {
        return Err(refusal);
    }
    let maker = CapsuleMaker::open_ahead(project, GitNeed::Stand)?;
    maker.check_to_go_out()?;
    let plain = maker.named(id)?;
    let along = Along {
        patch: along.patch,
        outputs: along.outputs,
    };
    let made = with_along(&maker, &plain, along)?;
    let made = made.as_ref().unwrap_or(&plain);
    let export = export_of(&maker, &plain, made);
    let file_path = project.dirs.root.join(file);
    let mut kept = Ok(None);
    write(&project.dirs, made, &file_path, false, || {
        record(export).map_err(|why| {
            let message = format!("the export cannot be recorded, and nothing went out: {why}");
            Failure::unavailable(ProgramCode::NotRecorded, message, "see `ctxrelay doctor`")
        })?;
        // Its own copy says how the task stands; a patch of a moment is no part of that.
        kept = maker.keep(&plain);
        Ok(())
    })?;
    let mut lines = vec![file.to_owned(), format!("sha256 {}", made.capsule.digest)];
    lines.extend(went_along(&made.capsule, along));
    lines.extend(plain.remarks.iter().cloned());
    lines.extend(kept.err().map(|failure| failure.message));
    Ok(lines)
}

/// What the person may have go along, as `handoff --hydrate` has it.
fn alike(project: &ProjectContext, id: &str) -> Result<Vec<FoundText>, Failure> {
    let maker = CapsuleMaker::open(project)?;
    let made = maker.shown(maker.named(id)?);
    find_alike(project, &|_| (), &made.capsule.title, |hit| {
        goes_along(&maker, &made.capsule, hit)
    })
}

/// What a task may begin with, as `new --like` has it.
fn said_before(project: &ProjectContext, words: &str) -> Result<Vec<FoundText>, Failure> {
    let maker = CapsuleMaker::open(project)?;
    find_alike(project, &|_| (), words, |hit| goes_into(&maker, hit))
}

fn handoff(
    project: &ProjectContext,
    id: &str,
    to: Agent,
    found: &[FoundText],
) -> Result<HandedTask, Failure> {
    let maker = CapsuleMaker::open(project)?;
    maker.check_to_go_out()?;
    let mut made = maker.named(id)?;
    let stands = maker.stands_with_last(&mut made);
    let made = maker.shown(made);
    let target = match to {
        Agent::Claude => RenderTarget::Claude,
        Agent::Codex => RenderTarget::Codex,
    };
    let rendering = rendered(&stands, &made, target, found);
    let params = as_handoff(None, to, &made.capsule, &rendering);
    let keeping = maker.keeping(&made);
    let project = project.clone();
    let keep = move || keeping.map_or(Ok(None), |keeping| keeping.keep_open(&project));
    Ok(HandedTask {
        params,
        remarks: made.remarks,
        keep: Box::new(move || keep().map_err(|failure| failure.message)),
    })
}

/// For somebody who is no agent of the pair.
fn told(
    project: &ProjectContext,
    id: &str,
    to: ui::CapsuleReader,
) -> Result<(String, Vec<String>), Failure> {
    let maker = CapsuleMaker::open(project)?;
    maker.check_to_go_out()?;
    let mut made = maker.named(id)?;
    let stands = maker.stands_with_last(&mut made);
    let made = maker.shown(made);
    let target = match to {
        ui::CapsuleReader::Cursor => RenderTarget::Cursor,
        ui::CapsuleReader::Opencode => RenderTarget::Opencode,
        ui::CapsuleReader::Markdown => RenderTarget::Markdown,
    };
    let text = rendered(&stands, &made, target, &[]).text;
    Ok((text, made.remarks))
}

fn rendered(
    stands: &StandsNow,
    made: &MadeCapsule,
    target: RenderTarget,
    found: &[FoundText],
) -> Rendering {
    let terms = RenderTerms {
        target,
        stands,
        is_foreign: made.owner == CapsuleOwner::Foreign,
        chars_max: RENDER_CHARS_MAX,
        found,
    };
    Rendering::of(&made.capsule, terms)
}

fn kept(project: &ProjectContext, id: &str) -> Result<Option<String>, Failure> {
    let maker = CapsuleMaker::open(project)?;
    maker.keep_closed(&maker.id_of(id)?)
}
