#![allow(clippy::unwrap_used, reason = "tests")]
//! Sessions and the adapter's task, against a scripted app-server.

/// The next fact, which must be of this kind.
macro_rules! next_fact {
    ($script:expr, $kind:ident) => {{
        let fact = $script.fact().await;
        assert!(
            matches!(fact, crate::adapters::codex::fact::CodexFact::$kind { .. }),
            "{fact:?}"
        );
    }};
}

mod app_server;
mod asked_back;
mod compacting;
mod conversation;
mod delivery;
mod elsewhere;
mod far_back;
mod hooked;
mod left_behind;
mod lost_packets;
mod naming;
mod put_in;
mod recovering;
mod running;
mod sent_again;
mod signing_in;
mod unseen;
