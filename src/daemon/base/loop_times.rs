//! [`LoopTimes`]: how long the loop was busy with one event. Everybody waits during that time.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// An event that takes longer is named in the log.
const SLOW: Duration = Duration::from_millis(5);

/// Upper bounds of the histogram, in s.
const BOUNDS: [f64; 20] = [
    0.000_05, 0.000_1, 0.000_2, 0.000_3, 0.000_5, 0.001, 0.001_5, 0.002, 0.003, 0.004, 0.005,
    0.007_5, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0,
];

/// How long the loop was busy with each event since the start.
#[derive(Debug)]
pub(in crate::daemon) struct LoopTimes {
    all: Histogram,
    /// By the kind of event. Kinds are closed, so that this is bounded.
    longest: BTreeMap<&'static str, Duration>,
}

impl Default for LoopTimes {
    fn default() -> Self {
        Self {
            all: Histogram::new(BOUNDS),
            longest: BTreeMap::new(),
        }
    }
}

impl LoopTimes {
    /// One event of this kind, with all that it set off in the loop, took so long.
    pub(in crate::daemon) fn took(&mut self, kind: &'static str, took: Duration) {
        self.all.observe(took.as_secs_f64());
        let longest = self.longest.entry(kind).or_default();
        *longest = took.max(*longest);
        if took >= SLOW {
            tracing::debug!(
                kind,
                took_ms = took.as_secs_f64() * 1e3,
                "the loop was busy for long"
            );
        }
    }

    /// Has `/metrics` show them.
    pub(in crate::daemon) fn register(&self, registry: &mut Registry) {
        registry.register_with_unit(
            "ctxrelay_loop_busy",
            "How long the loop was busy with one event",
            Unit::Seconds,
            self.all.clone(),
        );
        let longest = Family::<[(&str, &str); 1], Gauge<f64, AtomicU64>>::default();
        for (kind, took) in &self.longest {
            longest
                .get_or_create(&[("event", kind)])
                .set(took.as_secs_f64());
        }
        registry.register_with_unit(
            "ctxrelay_loop_busy_longest",
            "The longest that the loop was busy with one event, by its kind",
            Unit::Seconds,
            longest,
        );
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    #[test]
    fn the_longest_of_each_kind_and_all_of_them_are_told() {
        let mut times = LoopTimes::default();
        times.took("deadline", Duration::from_millis(2));
        times.took("ledger/clear", Duration::from_millis(250));
        times.took("ledger/clear", Duration::from_millis(125));
        let mut registry = Registry::default();
        times.register(&mut registry);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for line in [
            "ctxrelay_loop_busy_seconds_bucket{le=\"0.0015\"} 0",
            "ctxrelay_loop_busy_seconds_bucket{le=\"0.002\"} 1",
            "ctxrelay_loop_busy_seconds_bucket{le=\"0.5\"} 3",
            "ctxrelay_loop_busy_seconds_count 3",
            "ctxrelay_loop_busy_longest_seconds{event=\"deadline\"} 0.002",
            "ctxrelay_loop_busy_longest_seconds{event=\"ledger/clear\"} 0.25",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} in {text}");
        }
    }
}
