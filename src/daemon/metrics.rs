//! `/metrics`: OpenMetrics text, or Prometheus's text format for clients that do not ask for
//! OpenMetrics.

use std::collections::HashSet;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use super::owners::Daemon;
use crate::core::agent::Agent;

/// The figures of now.
pub(super) fn render(daemon: &Daemon) -> String {
    let mut registry = Registry::default();
    let world = daemon.base.recorder.world();
    let stats = daemon.base.recorder.ledger().stats();
    let counter = |value: u64| ConstCounter::new(value);
    let gauge = |value: u64| ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
    registry.register(
        "contextrelay_ledger_writes",
        "Entries of the current session",
        counter(stats.entries),
    );
    registry.register(
        "contextrelay_codex_messages",
        "Messages and handoffs that Codex has",
        counter(world.delivered.get(&Agent::Codex).copied().unwrap_or(0)),
    );
    registry.register(
        "contextrelay_idle_opportunities_detected",
        "Idle opportunities noticed; the scanner is not in this version",
        counter(0),
    );
    registry.register_with_unit(
        "ctxrelay_ledger",
        "Size of the current ledger",
        Unit::Bytes,
        gauge(stats.bytes),
    );
    registry.register(
        "ctxrelay_ledger_bad_lines",
        "Lines of the ledger that are no entries",
        gauge(stats.bad_lines),
    );
    registry.register(
        "ctxrelay_handoffs_open",
        "Open handoffs",
        gauge(world.standing_handoffs().count() as u64),
    );
    registry.register(
        "ctxrelay_finality_pending",
        "Proposals that wait for the operator",
        gauge(world.pending_proposals.len() as u64),
    );
    registry.register(
        "ctxrelay_calls_waiting",
        "Calls that wait for messages, or for what becomes of one",
        gauge(daemon.base.clients.waiters().count() as u64),
    );
    for agent in Agent::ALL {
        registry.register(
            format!("ctxrelay_queue_{agent}"),
            format!("Messages for {} that are not settled", agent.title()),
            gauge(daemon.deliveries.outbox.backlog().count(agent) as u64),
        );
    }
    for agent in Agent::ALL {
        let fill = daemon.agents.contexts.fill(agent);
        let title = agent.title();
        for (name, what, figure) in [
            ("used", "Tokens in the context", fill.used),
            ("window", "Tokens that fit into the context", fill.window),
            (
                "turns_left",
                "Turns until the context is compacted, by its growth",
                fill.turns_left,
            ),
        ] {
            if let Some(figure) = figure {
                let name = format!("ctxrelay_context_{name}_{agent}");
                registry.register(name, format!("{what} of {title}"), gauge(figure));
            }
        }
        registry.register(
            format!("ctxrelay_compactions_{agent}"),
            format!("Compactions of {title} that this daemon saw"),
            counter(fill.compactions),
        );
    }
    daemon.base.loop_times.register(&mut registry);
    let mut text = String::new();
    if encode(&mut text, &registry).is_err() {
        tracing::error!("the metrics could not be written");
    }
    text
}

/// OpenMetrics text in the text format of Prometheus, version 0.0.4. There a counter is called in its
/// comments as in its samples, and nothing tells units or the end.
pub(super) fn in_text_format(metrics: &str) -> String {
    let counters = metrics.lines().filter_map(|line| {
        let (name, kind) = line.strip_prefix("# TYPE ")?.split_once(' ')?;
        (kind == "counter").then_some(name)
    });
    let counters: HashSet<&str> = counters.collect();
    let mut text = String::new();
    for line in metrics.lines() {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("EOF" | "UNIT"), ..) => continue,
            (Some("#"), Some(what), Some(name), Some(said)) if counters.contains(name) => {
                text.push_str(&format!("# {what} {name}_total {said}"));
            }
            _ => text.push_str(line),
        }
        text.push('\n');
    }
    text
}
