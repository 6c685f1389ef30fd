//! [`NotificationSettings`]: how the person is notified of what waits while they look elsewhere.

use std::fmt;

use crate::named::named;

named! {
    /// One way to tell. The first three are written to the terminal.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum NotificationWay {
        /// BEL: a sound, a mark on the tab, or nothing, as the terminal is set. tmux marks the window.
        Bell = "bell",
        /// OSC 9, known to iTerm2, Windows Terminal, Ghostty, kitty and others.
        Osc9 = "osc9",
        /// OSC 777, known to urxvt, VTE's terminals, foot, Ghostty and others.
        Osc777 = "osc777",
    }
    /// Its name.
    pub fn as_str;
}

impl NotificationWay {
    /// The way of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|way| way.as_str() == name)
    }

    /// What the terminal is written. `text` is a harmless line. tmux hands on what it does not know
    /// only in an envelope, and where its `allow-passthrough` is on.
    pub fn sequence(self, text: &str, is_in_tmux: bool) -> String {
        let told = match self {
            Self::Bell => return "\x07".to_owned(),
            Self::Osc9 => format!("\x1b]9;{text}\x07"),
            Self::Osc777 => format!("\x1b]777;notify;ctxrelay;{text}\x07"),
        };
        if is_in_tmux {
            format!("\x1bPtmux;\x1b{told}\x1b\\")
        } else {
            told
        }
    }
}

/// A time of each day in which nobody is told, minutes from midnight, local.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuietHours {
    from: i64,
    to: i64,
}

const DAY_MINUTES: i64 = 24 * 60;

impl QuietHours {
    /// Reads `22:00-07:00`; `None` when it is something else, or no time at all.
    pub fn parse(text: &str) -> Option<Self> {
        let (from, to) = text.split_once('-')?;
        let (from, to) = (minute(from)?, minute(to)?);
        (from != to).then_some(Self { from, to })
    }

    /// Whether this moment (ms since the epoch, local time `utc_offset_s` ahead) is among them. The
    /// last minute is not.
    pub fn hold(self, now_ms: i64, utc_offset_s: i32) -> bool {
        let local = now_ms.div_euclid(1_000) + i64::from(utc_offset_s);
        let minute = local.div_euclid(60).rem_euclid(DAY_MINUTES);
        if self.from < self.to {
            (self.from..self.to).contains(&minute)
        } else {
            minute >= self.from || minute < self.to
        }
    }
}

impl fmt::Display for QuietHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to } = self;
        let (from_h, from_m, to_h, to_m) = (from / 60, from % 60, to / 60, to % 60);
        write!(f, "{from_h:02}:{from_m:02}-{to_h:02}:{to_m:02}")
    }
}

fn minute(text: &str) -> Option<i64> {
    let (hours, minutes) = text.trim().split_once(':')?;
    let two_digits = |text: &str| {
        let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<i64>().ok()).flatten()
    };
    let (hours, minutes) = (two_digits(hours)?, two_digits(minutes)?);
    (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
}

/// What the person has chosen. By default nobody is told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NotificationSettings {
    /// What the terminal is written, each once.
    pub ways: Vec<NotificationWay>,
    /// A program and its arguments; the sentence is added as the last one. Empty is none.
    pub command: Vec<String>,
    /// When nothing is done.
    pub quiet: Option<QuietHours>,
}

impl NotificationSettings {
    /// Whether there is any way at all.
    pub fn is_off(&self) -> bool {
        self.ways.is_empty() && self.command.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: i64 = 3_600_000;

    #[test]
    fn quiet_hours_go_over_midnight_and_are_local() {
        let quiet = QuietHours::parse("22:00-07:00").unwrap();
        for (hour, holds) in [(21, false), (22, true), (0, true), (6, true), (7, false)] {
            assert_eq!(quiet.hold(hour * HOUR_MS, 0), holds, "{hour}");
            assert_eq!(quiet.hold((hour - 2) * HOUR_MS, 7_200), holds, "{hour}");
        }
        assert_eq!(quiet.to_string(), "22:00-07:00");
        let noon = QuietHours::parse("12:00-13:30").unwrap();
        assert!(noon.hold(12 * HOUR_MS, 0));
        assert!(!noon.hold(14 * HOUR_MS, 0));
    }

    #[test]
    fn tmux_hands_on_what_is_in_its_envelope() {
        let way = NotificationWay::from_name("osc9").unwrap();
        assert_eq!(way.sequence("x", false), "\x1b]9;x\x07");
        assert_eq!(way.sequence("x", true), "\x1bPtmux;\x1b\x1b]9;x\x07\x1b\\");
        assert_eq!(NotificationWay::Bell.sequence("x", true), "\x07");
    }

    #[test]
    fn what_is_no_time_is_none() {
        for wrong in [
            "",
            "22:00",
            "7-8",
            "24:00-07:00",
            "22:60-07:00",
            "07:00-07:00",
            "+1:00-02:00",
        ] {
            assert_eq!(QuietHours::parse(wrong), None, "{wrong}");
        }
    }
}
