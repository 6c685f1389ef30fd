//! What follows once the state of the work tree has been read.

use crate::core::entry::TreeFound;
use crate::core::snapshot::ChangedFiles;
use crate::daemon::event::TreePurpose;
use crate::daemon::owners::{Base, Decisions};

impl Decisions {
    pub(in crate::daemon) fn on_tree(
        &mut self,
        base: &mut Base,
        purpose: TreePurpose,
        tree: TreeFound,
        changed: Option<ChangedFiles>,
    ) {
        match purpose {
            TreePurpose::Propose {
                conn,
                params,
                reply,
            } => base.propose(conn, params, tree, changed, reply),
            TreePurpose::SignOff { proposal } => {
                self.end_sign_off(base, &proposal, tree, changed.as_ref());
            }
            TreePurpose::Decide { params, reply } => {
                self.decide(base, params, tree, changed.as_ref(), reply)
            }
        }
    }
}
