//! [`Imports`]: whether findings of a review are being recorded.

use std::sync::Arc;

/// Allows one import at a time: findings that are not folded yet could be imported twice.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Imports {
    under_way: Arc<()>,
}

/// An import whose findings are being recorded, or could not be and whose caller is not told yet.
#[derive(Debug)]
pub(in crate::daemon) struct ImportUnderWay {
    _of: Arc<()>,
}

impl Imports {
    /// Begins, unless one is under way.
    pub(in crate::daemon) fn begin(&self) -> Option<ImportUnderWay> {
        let is_free = Arc::strong_count(&self.under_way) == 1;
        is_free.then(|| ImportUnderWay {
            _of: Arc::clone(&self.under_way),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_under_way_at_a_time_and_until_it_is_dropped() {
        let imports = Imports::default();
        let first = imports.begin().unwrap();
        assert!(imports.begin().is_none());
        drop(first);
        assert!(imports.begin().is_some());
    }
}
