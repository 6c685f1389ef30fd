//! [`TestLog`]: what one test logs on its own thread.

use tracing::Dispatch;
use tracing::subscriber::{DefaultGuard, NoSubscriber, set_default};
use tracing_subscriber::fmt::MakeWriter;

/// Until it is dropped, what is logged on this thread at `debug` and above goes to its writer.
pub(crate) struct TestLog {
    _logged: DefaultGuard,
    /// With one dispatcher alone, whether a line is wanted at all is asked once, on the thread that
    /// comes to it first: mostly that of another test, where nobody wants any.
    _other: Dispatch,
}

impl TestLog {
    pub(crate) fn to(writer: impl for<'a> MakeWriter<'a> + Send + Sync + 'static) -> Self {
        let other = Dispatch::new(NoSubscriber::default());
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::DEBUG)
            .with_ansi(false)
            .with_writer(writer);
        Self {
            _logged: set_default(subscriber.finish()),
            _other: other,
        }
    }
}
