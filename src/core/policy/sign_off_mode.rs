//! [`SignOffMode`]: who confirms that work is done.

use crate::word::words;

words! {
    /// Who approves a proposal.
    #[derive(Default)]
    pub closed enum SignOffMode {
        /// The operator alone.
        #[default]
        Manual = "manual",
        /// The required gates, where all of them are green on the very tree that was proposed and
        /// nothing else stands in the way; else the operator.
        Auto = "auto",
    }
}
