//! [`RateLimits`]: how much of the usage windows of one of the account's buckets is spent, and when
//! they reset. [`RateBuckets`]: all of the buckets.

use std::collections::BTreeMap;

use serde::Deserialize;

/// From this share on a window is spent, in percent.
const SPENT_PERCENT: f64 = 100.0;

/// The most buckets that are kept; the one that was not heard of for longest goes.
const BUCKETS_MAX: usize = 8;

/// The bucket that is meant where none is named.
const CODEX: &str = "codex";

/// The windows of a bucket, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RateLimits {
    /// The bucket's name, see [`Self::bucket`].
    pub limit_id: Option<String>,
    /// The short one.
    pub primary: Option<RateWindow>,
    /// The long one.
    pub secondary: Option<RateWindow>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RateWindow {
    /// How much of it is spent.
    pub used_percent: f64,
    /// When it resets, s since the epoch.
    pub resets_at: Option<i64>,
}

impl RateLimits {
    fn bucket(&self) -> &str {
        self.limit_id.as_deref().unwrap_or(CODEX)
    }

    /// Takes a newer word on the same bucket in. It may be sparse: what it leaves out stays as it was (Codex 0.169.0,
    /// its schema).
    pub fn merge(&mut self, newer: Self) {
        self.limit_id = newer.limit_id;
        for (known, newer) in [
            (&mut self.primary, newer.primary),
            (&mut self.secondary, newer.secondary),
        ] {
            if let Some(newer) = newer {
                let before = known.take().and_then(|known| known.resets_at);
                *known = Some(RateWindow {
                    resets_at: newer.resets_at.or(before),
                    ..newer
                });
            }
        }
    }

    /// When work goes on after a limit was hit, s since the epoch: once the last of the spent
    /// windows resets. When none is quite spent, it is the fullest one that was hit.
    pub fn resets_at(&self) -> Option<i64> {
        let windows = || self.primary.iter().chain(&self.secondary);
        let spent = windows().filter(|window| window.used_percent >= SPENT_PERCENT);
        spent
            .filter_map(|window| window.resets_at)
            .max()
            .or_else(|| {
                windows()
                    .filter(|window| window.resets_at.is_some())
                    .max_by(|one, other| one.used_percent.total_cmp(&other.used_percent))
                    .and_then(|window| window.resets_at)
            })
    }
}

/// The windows of each bucket: a model of its own may have its own (Codex 0.169.0, its schema).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RateBuckets {
    /// By the time of the last word on each, the latest at the end.
    buckets: Vec<RateLimits>,
}

impl RateBuckets {
    /// Takes a newer word on one bucket in.
    pub fn take_in(&mut self, newer: RateLimits) {
        let known = |it: &RateLimits| it.bucket() == newer.bucket();
        let at = self.buckets.iter().position(known);
        let mut bucket = at.map(|at| self.buckets.remove(at)).unwrap_or_default();
        bucket.merge(newer);
        self.buckets.push(bucket);
        let over = self.buckets.len().saturating_sub(BUCKETS_MAX);
        self.buckets.drain(..over);
    }

    /// Takes an answer about all of them in. Which of them counts is as before, or the one of which
    /// `one` tells, where nothing was known.
    pub fn take_all(&mut self, one: RateLimits, by_id: BTreeMap<String, RateLimits>) {
        let counts = self.buckets.last().unwrap_or(&one).bucket().to_owned();
        let all = by_id.into_iter().map(|(id, limits)| RateLimits {
            limit_id: Some(id),
            ..limits
        });
        // The same bucket stands in both, and what is told by name is the newer form.
        let all = std::iter::once(one).chain(all);
        let (counting, others): (Vec<_>, Vec<_>) = all.partition(|it| it.bucket() == counts);
        // It may be missing in the answer: this says nothing new of it, and puts it behind the others.
        let last = RateLimits {
            limit_id: Some(counts),
            ..RateLimits::default()
        };
        for limits in others.into_iter().chain([last]).chain(counting) {
            self.take_in(limits);
        }
    }

    /// When work goes on after a limit was hit, s since the epoch: by the bucket of the last word,
    /// which Codex tells before the error.
    pub fn resets_at(&self) -> Option<i64> {
        self.buckets.last()?.resets_at()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> RateLimits {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn the_last_of_the_spent_windows_counts() {
        let one = read(
            r#"{"limitId":"codex","primary":{"usedPercent":100,"windowDurationMins":300,"resetsAt":20},
                "secondary":{"usedPercent":40,"windowDurationMins":10080,"resetsAt":90}}"#,
        );
        assert_eq!(one.resets_at(), Some(20));
        let both = read(
            r#"{"primary":{"usedPercent":100,"resetsAt":20},"secondary":{"usedPercent":100.0,"resetsAt":90}}"#,
        );
        assert_eq!(both.resets_at(), Some(90));
        let neither = read(
            r#"{"primary":{"usedPercent":99,"resetsAt":20},"secondary":{"usedPercent":12,"resetsAt":90}}"#,
        );
        assert_eq!(neither.resets_at(), Some(20));
        assert_eq!(
            read(r#"{"primary":null,"secondary":null}"#).resets_at(),
            None
        );
    }

    const CODEXS: &str =
        r#"{"limitId":"codex","primary":{"usedPercent":100,"resetsAt":20},"secondary":null}"#;
    const ANOTHERS: &str = r#"{"limitId":"codex_bengalfox","primary":null,"secondary":{"usedPercent":100,"resetsAt":9000}}"#;

    #[test]
    fn another_buckets_windows_are_not_those_of_the_one_that_was_hit() {
        let mut known = RateBuckets::default();
        assert_eq!(known.resets_at(), None);
        known.take_in(read(CODEXS));
        known.take_in(read(ANOTHERS));
        assert_eq!(known.resets_at(), Some(9_000));
        // What names no bucket is about Codex's, and what it leaves out stays.
        known.take_in(read(r#"{"limitId":null,"primary":null,"secondary":null}"#));
        assert_eq!(known.resets_at(), Some(20));
        known.take_in(read(ANOTHERS));
        known.take_in(read(CODEXS));
        assert_eq!(known.resets_at(), Some(20));
    }

    #[test]
    fn an_answer_about_all_buckets_leaves_the_one_that_counts() {
        let by_id = |text: &str| serde_json::from_str(text).unwrap();
        let all = format!(r#"{{"codex":{CODEXS},"codex_bengalfox":{ANOTHERS}}}"#);
        // Nothing was known: the one that stands alone is meant.
        let mut known = RateBuckets::default();
        known.take_all(read(CODEXS), by_id(&all));
        assert_eq!(known.resets_at(), Some(20));
        let mut known = RateBuckets::default();
        known.take_in(read(ANOTHERS));
        known.take_all(read(CODEXS), by_id(&all));
        assert_eq!(known.resets_at(), Some(9_000));
        known.take_all(read(CODEXS), by_id(&format!(r#"{{"codex":{CODEXS}}}"#)));
        assert_eq!(known.resets_at(), Some(9_000));
        // An app-server that names no buckets.
        known.take_in(read(r#"{"primary":{"usedPercent":3,"resetsAt":5}}"#));
        known.take_all(read(CODEXS), BTreeMap::new());
        assert_eq!(known.resets_at(), Some(20));
    }

    #[test]
    fn so_many_buckets_are_kept_and_the_latest_is_among_them() {
        let mut known = RateBuckets::default();
        for n in 0..50 {
            known.take_in(read(&format!(
                r#"{{"limitId":"b{n}","primary":{{"usedPercent":100,"resetsAt":{n}}}}}"#
            )));
        }
        assert_eq!(known.buckets.len(), BUCKETS_MAX);
        assert_eq!(known.resets_at(), Some(49));
    }

    #[test]
    fn what_a_newer_word_leaves_out_stays() {
        let mut known = read(r#"{"primary":{"usedPercent":86,"resetsAt":20}}"#);
        known.merge(read(r#"{"primary":null,"secondary":null}"#));
        assert_eq!(known.resets_at(), Some(20));
        known.merge(read(r#"{"primary":{"usedPercent":100,"resetsAt":null}}"#));
        assert_eq!(known.primary.as_ref().unwrap().used_percent, 100.0);
        assert_eq!(known.resets_at(), Some(20));
        known.merge(read(r#"{"primary":{"usedPercent":3,"resetsAt":50}}"#));
        assert_eq!(known.resets_at(), Some(50));
    }
}
