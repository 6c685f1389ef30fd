//! [`PanicOnOrder`]: makes the program panic at a chosen line of its log, so that tests see the
//! consequences of a fault of ours. Only development builds read the variable.

use std::fmt;
use std::path::PathBuf;

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Panics where the message is logged that stands in a file, and takes the file away: once.
pub(super) struct PanicOnOrder {
    order: PathBuf,
}

impl PanicOnOrder {
    /// From the environment, if there is one.
    pub(super) fn from_env() -> Option<Self> {
        let order = std::env::var_os("CONTEXTRELAY_TEST_PANIC")?;
        Some(Self {
            order: order.into(),
        })
    }
}

impl<S: Subscriber> Layer<S> for PanicOnOrder {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let Ok(order) = std::fs::read_to_string(&self.order) else {
            return;
        };
        let mut message = Message::default();
        event.record(&mut message);
        if message.0 == order && std::fs::remove_file(&self.order).is_ok() {
            // As the panics of `std` that quote what they were given do.
            let quoted = String::from("a text that no log may have");
            panic!("ordered by a test, with {quoted}");
        }
    }
}

#[derive(Default)]
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}
