//! [`FindingRuling`]: the operator's ruling on a finding.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FindingRuling {
    /// It is dealt with.
    Resolve,
    /// It does not count.
    Dismiss,
}
