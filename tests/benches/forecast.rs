//! How far the forecast of the turns left is off: what the meter says at the beginning of each turn,
//! and how many turns the context then did last.
//!
//! The streams are written for it, after kinds of work: there is no record of anybody's usage here.

use ctxrelay::core::agent::Agent;
use ctxrelay::core::context_fill::ContextSource;
use ctxrelay::core::context_meter::{ContextMeter, ContextReading};

use crate::figure::Table;

const WINDOW: u64 = 258_400;

/// So many turns say how it grows.
const TURNS_SEEN: usize = 4;

/// A kind of work, and by how many thousand tokens its turns make the context grow; from the first
/// again when all are done.
const STREAMS: [(&str, &[u64]); 6] = [
    ("one small step after another", &[4, 5, 3, 4, 6, 4, 3, 5]),
    (
        "much is read at first, then little",
        &[38, 27, 19, 11, 6, 4, 5, 3, 4, 5, 4, 6, 3, 4, 5, 4, 4, 3],
    ),
    (
        "a test's long output every sixth turn",
        &[3, 4, 2, 5, 3, 31, 4, 3, 3, 4, 2, 28],
    ),
    (
        "turns that grow with the task",
        &[2, 3, 3, 4, 5, 6, 8, 9, 11, 13, 14, 16, 18, 19, 21, 24],
    ),
    (
        "talk, then work, then talk",
        &[1, 1, 2, 1, 14, 17, 12, 15, 1, 2, 1, 1],
    ),
    ("few turns, and large ones", &[33, 41, 28, 39, 35, 30]),
];

/// Measures it.
pub fn measure(table: &mut Table) {
    for (kind, growth) in STREAMS {
        let mut off = errors(growth);
        off.sort_by(f64::total_cmp);
        let at = |part: f64| off[((off.len() - 1) as f64 * part).round() as usize];
        let (p50, p90, count) = (at(0.5), at(0.9), off.len());
        table.baseline(
            &format!("turns left: {kind}"),
            &format!("off by {p50:.0} % p50, {p90:.0} % p90, n {count}"),
        );
    }
}

/// By how many percent of what came each forecast is off, as the turns of one context begin.
fn errors(growth: &[u64]) -> Vec<f64> {
    let mut meter = ContextMeter::new(Agent::Codex);
    let (mut used, mut forecasts) = (12_000, Vec::new());
    let mut turns = 0;
    for grows in growth.iter().cycle() {
        meter.read(ContextReading {
            used,
            source: ContextSource::Vendor,
            window: Some((WINDOW, ContextSource::Vendor)),
            at_ms: 0,
        });
        let fill = meter.fill();
        if fill.compacts_at.is_some_and(|limit| used >= limit) {
            break;
        }
        if turns >= TURNS_SEEN {
            forecasts.push((turns, fill.turns_left.unwrap_or_default()));
        }
        meter.turn_began();
        meter.turn_ended();
        used += grows * 1_000;
        turns += 1;
    }
    let off = forecasts.into_iter().map(|(at, forecast)| {
        // It is full in the turn that passes the limit: that one still begins.
        let came = (turns - at) as f64;
        (forecast as f64 + 1.0 - came).abs() / came * 100.0
    });
    off.collect()
}
