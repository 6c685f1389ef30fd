//! [`ChangedFiles`]: what differs between the work tree that was approved last and a later one.

use super::Snapshot;
use crate::entry::WorkTree;

/// The files that differ between two work trees. Somebody who can ask git says it: the record
/// names trees, and not what is in them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangedFiles {
    /// The tree that was approved.
    pub from: String,
    /// The later one.
    pub to: String,
    /// Their paths from the project's folder; what lies elsewhere in the repository begins with
    /// `:/`.
    pub paths: Vec<String>,
    /// These are all, and each of them has changed. Otherwise the approved tree is not there any
    /// more, and these are those that differ from the commit of then.
    pub is_exact: bool,
}

impl Snapshot {
    /// All files that changed between the last approval and this tree; `None` when it is not known
    /// of them all.
    pub(super) fn all_changed<'a>(
        &self,
        changed: Option<&'a ChangedFiles>,
        tree: Option<&WorkTree>,
    ) -> Option<&'a [String]> {
        let (approved, tree) = (self.approved_tree.as_ref()?, tree?);
        let changed = changed.filter(|changed| changed.is_exact)?;
        let is_of_these = changed.from == approved.tree && changed.to == tree.tree;
        is_of_these.then_some(&changed.paths)
    }
}
