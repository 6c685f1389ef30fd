//! The state of the work tree was read for somebody.

use crate::core::entry::TreeFound;
use crate::core::snapshot::ChangedFiles;
use crate::daemon::event::TreePurpose;
use crate::daemon::owners::Daemon;

impl Daemon {
    pub(in crate::daemon) fn on_tree(
        &mut self,
        purpose: TreePurpose,
        tree: TreeFound,
        changed: Option<ChangedFiles>,
    ) {
        match purpose {
            TreePurpose::Propose {
                conn,
                params,
                reply,
            } => self.propose(conn, params, tree, changed, reply),
            TreePurpose::SignOff { proposal } => {
                self.end_sign_off(&proposal, tree, changed.as_ref());
            }
            TreePurpose::Decide { params, reply } => {
                self.decide(params, tree, changed.as_ref(), reply)
            }
        }
    }
}
