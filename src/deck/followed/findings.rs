//! [`FindingRows`]: the findings of reviews, as rows; and one finding, read when it is opened.

use std::collections::BTreeMap;
use std::sync::Arc;

use ctxrelay_ui::Msg;
use ctxrelay_ui::model as ui;
use tokio::sync::mpsc;

use crate::client::Client;
use crate::core::agent::Agent;
use crate::core::entry::FindingSeverity;
use crate::core::id::FindingId;
use crate::core::review::{FindingPlace, LineFate};
use crate::core::snapshot::{FindingSnapshot, FindingState, Snapshot};
use crate::wire::control::{
    Command, FindingText, PlacedFinding, ReadFindingParams, ReadFindingPlacesParams, ReviewChange,
    ReviewParams,
};

/// The rows of the findings of a world, rebuilt only when those have changed.
#[derive(Debug, Default)]
pub struct FindingRows {
    of: Arc<BTreeMap<FindingId, FindingSnapshot>>,
    rows: Arc<Vec<ui::FindingRow>>,
}

impl FindingRows {
    /// The world may be another one.
    pub(in crate::deck) fn follow(&mut self, world: &Snapshot) {
        if Arc::ptr_eq(&self.of, &world.findings) {
            return;
        }
        self.of = Arc::clone(&world.findings);
        let findings = world.findings_in_order().into_iter();
        self.rows = Arc::new(findings.map(|(id, finding)| row(id, finding)).collect());
    }

    /// What stands first, the worst first.
    pub(in crate::deck) fn rows(&self) -> Arc<Vec<ui::FindingRow>> {
        Arc::clone(&self.rows)
    }
}

fn row(id: &FindingId, finding: &FindingSnapshot) -> ui::FindingRow {
    let facts = &finding.facts;
    let claimed = || match finding.claim.as_ref().map(|claim| claim.by) {
        Some(Agent::Codex) => ui::FindingStage::Claimed(ui::Agent::Codex),
        _ => ui::FindingStage::Claimed(ui::Agent::Claude),
    };
    ui::FindingRow {
        line: Some(finding.seq.0).filter(|line| *line > 0),
        id: id.to_string(),
        severity: match &facts.severity {
            Some(FindingSeverity::Critical) => ui::FindingRank::Critical,
            Some(FindingSeverity::High) => ui::FindingRank::High,
            Some(FindingSeverity::Medium) => ui::FindingRank::Medium,
            Some(FindingSeverity::Low) => ui::FindingRank::Low,
            Some(FindingSeverity::Other(_)) | None => ui::FindingRank::Unrated,
        },
        state: match &finding.state {
            FindingState::Claimed => claimed(),
            FindingState::Resolved => ui::FindingStage::Resolved,
            FindingState::Dismissed => ui::FindingStage::Dismissed,
            FindingState::Gone => ui::FindingStage::Gone,
            FindingState::Open | FindingState::Other(_) => ui::FindingStage::Open,
        },
        place: facts.place().unwrap_or_default(),
        outside: facts.is_outside(),
        title: facts.title.clone(),
        author: facts.author.clone(),
        bot: facts.bot,
        outdated: facts.outdated,
        blocks: finding.is_blocking(),
        since: finding.since().unwrap_or_default(),
        review: facts.review.clone(),
        url: facts.url.clone().unwrap_or_default(),
        reason: finding
            .verdict
            .as_ref()
            .map(|verdict| verdict.reason.clone())
            .unwrap_or_default(),
    }
}

/// Reads where findings stand by now. Nothing is said where that cannot be told: each that is opened
/// says why.
pub(in crate::deck) async fn read_places(
    client: Client,
    ids: Vec<String>,
    answers: mpsc::Sender<Msg>,
) {
    let findings = ids.into_iter().map(FindingId::new).collect();
    let asked = Command::ReadFindingPlaces(ReadFindingPlacesParams { findings });
    let Ok(placed) = client.ask_for::<Vec<PlacedFinding>>(asked).await else {
        return;
    };
    let placed = placed.into_iter().filter_map(|placed| {
        Some(ui::FindingPlaceNow {
            now: now(&placed.place)?,
            id: placed.finding.to_string(),
        })
    });
    // Nobody waits for it where the deck was left.
    let _ = answers.send(Msg::FindingPlaces(placed.collect())).await;
}

/// What stands beside a place that is not what its review names.
fn now(place: &FindingPlace) -> Option<String> {
    match (&place.fate, place.line_now) {
        (LineFate::Moved, Some(line)) => Some(match place.start_now {
            Some(start) => format!("{start}-{line} now"),
            None => format!("{line} now"),
        }),
        (LineFate::Changed, _) => Some("changed".to_owned()),
        (LineFate::Gone, _) => Some("gone".to_owned()),
        _ => None,
    }
}

/// What a finding says, beside its file.
pub(in crate::deck) async fn read_finding(client: &Client, id: String) -> Msg {
    let finding = FindingId::new(id.clone());
    let asked = Command::ReadFinding(ReadFindingParams { finding });
    let read = client.ask_for(asked).await;
    let read = read.map_err(|error| error.to_refusal().message);
    let read = read.map(|found| Box::new(opened(found)));
    Msg::Finding { id, read }
}

fn opened(found: FindingText) -> ui::FindingView {
    let FindingText {
        finding,
        text,
        suggestions,
        place,
    } = found;
    ui::FindingView {
        id: finding.to_string(),
        text,
        suggestions,
        fate: fate(&place),
        start_now: place.start_now,
        line_now: place.line_now,
        first: place.first,
        lines: place.lines,
    }
}

/// What became of its line, as a sentence.
fn fate(place: &FindingPlace) -> String {
    match (&place.fate, place.line_now) {
        (LineFate::Same, _) => "The line stands where it stood.".to_owned(),
        (LineFate::Moved, Some(line)) => match place.start_now {
            Some(start) => format!("The lines are lines {start}-{line} now."),
            None => format!("The line is line {line} now."),
        },
        (LineFate::Changed, _) => "The line was changed since.".to_owned(),
        (LineFate::Gone, _) => "The file is not there any more.".to_owned(),
        _ if place.lines.is_empty() => "There is no file to be seen.".to_owned(),
        _ => "Whether the line is the same cannot be told here.".to_owned(),
    }
}

/// The operator says that it is dealt with.
pub(in crate::deck) fn resolve(id: String, reason: Option<String>) -> Command {
    Command::ChangeReview(ReviewParams {
        change: ReviewChange::Resolve {
            finding: FindingId::new(id),
            reason,
        },
        runtime_session_id: None,
    })
}

/// The operator does not count it.
pub(in crate::deck) fn dismiss(id: String, reason: String) -> Command {
    Command::ChangeReview(ReviewParams {
        change: ReviewChange::Dismiss {
            finding: FindingId::new(id),
            reason,
        },
        runtime_session_id: None,
    })
}
