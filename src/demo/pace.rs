//! [`Pace`]: how fast the scripted agents work.

use std::ops::RangeInclusive;
use std::time::Duration;

use tokio::time::sleep;

use super::DemoError;

/// The speeds that make sense. Faster than these nobody can tell apart; slower than these the story
/// would take the better part of an hour.
pub const SPEEDS: RangeInclusive<f64> = 0.02..=1000.0;

/// The speed of the story. Only the pauses for the reader follow it; whatever has to happen is
/// waited for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pace(f64);

impl Pace {
    /// A speed; 1 is the pace of a reader.
    pub(super) fn new(speed: f64) -> Result<Self, DemoError> {
        if speed.is_finite() && speed > 0.0 {
            Ok(Self(speed.clamp(*SPEEDS.start(), *SPEEDS.end())))
        } else {
            Err(DemoError::Speed(speed))
        }
    }

    /// Gives the reader time; `seconds` are those of speed 1.
    pub(super) async fn pause(self, seconds: f64) {
        sleep(self.of(seconds)).await;
    }

    /// How long `seconds` of speed 1 take.
    pub(super) fn of(self, seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds / self.0)
    }
}

impl std::fmt::Display for Pace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_a_number_above_zero_and_has_bounds() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(Pace::new(bad), Err(DemoError::Speed(_))), "{bad}");
        }
        assert_eq!(Pace::new(1e9).ok(), Some(Pace(*SPEEDS.end())));
        assert_eq!(Pace::new(1e-9).ok(), Some(Pace(*SPEEDS.start())));
        assert_eq!(
            Pace::new(2.5).map(|pace| pace.to_string()).ok().as_deref(),
            Some("2.5")
        );
    }
}
