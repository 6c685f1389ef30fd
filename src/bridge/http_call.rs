//! [`HttpCall`]: what travels with an HTTP request.

use axum::http::request::Parts;
use rmcp::service::{RequestContext, RoleServer};
use tokio_util::sync::CancellationToken;

use super::handed::Handed;

#[derive(Debug, Clone, Default)]
pub(super) struct HttpCall {
    /// Cancelled when the client takes its call back or hangs up.
    pub(super) hangup: CancellationToken,
    /// What its answer holds.
    pub(super) handed: Handed,
}

impl HttpCall {
    /// `None` when the call did not come over HTTP.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Option<Self> {
        let parts = context.extensions.get::<Parts>()?;
        parts.extensions.get().cloned()
    }
}
