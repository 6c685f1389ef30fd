//! [`Panicked`]: a panic, in a form that may be reported.

use std::fmt;
use std::panic::PanicHookInfo;

/// Where a panic was, and what it said if that is a constant of the program: any other text may
/// quote what was being handled (a slice that is cut wrong does), and a log gets no message and
/// no secret.
#[derive(Debug)]
pub struct Panicked {
    thread: String,
    place: String,
    said: Option<&'static str>,
}

impl Panicked {
    /// Of what a panic hook is given, on the thread that panicked.
    pub fn of(info: &PanicHookInfo<'_>) -> Self {
        let thread = std::thread::current();
        let place = info.location().map(ToString::to_string);
        Self {
            thread: thread.name().unwrap_or("a thread").to_owned(),
            place: place.unwrap_or_else(|| "an unknown place".to_owned()),
            said: info.payload().downcast_ref::<&'static str>().copied(),
        }
    }
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} panicked at {}", self.thread, self.place)?;
        match self.said {
            Some(said) => write!(f, ": {said}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_panic_quotes_is_not_told() {
        let shown = |said| {
            let panicked = Panicked {
                thread: "ledger-writer".to_owned(),
                place: "src/a.rs:1:2".to_owned(),
                said,
            };
            panicked.to_string()
        };
        assert_eq!(shown(None), "ledger-writer panicked at src/a.rs:1:2");
        assert!(shown(Some("no room")).ends_with("1:2: no room"));
    }

    #[test]
    fn only_a_constant_counts_as_what_it_said() {
        let (tell, told) = std::sync::mpsc::channel();
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let _ = tell.send((std::thread::current().id(), Panicked::of(info).to_string()));
        }));
        let secret = String::from("sk-live-é");
        let of = std::thread::spawn(move || {
            let id = std::thread::current().id();
            let cut = std::panic::catch_unwind(|| secret[..9].len());
            assert!(cut.is_err());
            id
        });
        let of = of.join();
        std::panic::set_hook(before);
        // Other tests may panic on purpose at the same time.
        let of = of.ok();
        let text = told.iter().find(|(id, _)| Some(*id) == of);
        let text = text.map(|(_, text)| text).unwrap_or_default();
        assert!(text.contains("panicked.rs"), "{text}");
        assert!(!text.contains("sk-live"), "{text}");
    }
}
