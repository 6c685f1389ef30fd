//! [`RateLimits`]: how much of the account's usage windows is spent, and when they begin anew.

use serde::Deserialize;

/// From this share on a window is spent, in percent.
const SPENT_PERCENT: f64 = 100.0;

/// The windows, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RateLimits {
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
    /// When it begins anew, s since the epoch.
    pub resets_at: Option<i64>,
}

impl RateLimits {
    /// Takes a newer word in. It may be sparse: what it leaves out stays as it was (Codex 0.169.0,
    /// its schema).
    pub fn merge(&mut self, newer: Self) {
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
    /// windows begins anew. When none is quite spent, it is the fullest one that was hit.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
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
