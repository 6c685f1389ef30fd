//! How the operator learns of a fault, and of its end.

use crate::daemon::owners::Base;
use crate::wire::status::NoticeKey;

impl Base {
    /// Says it to who looks. Returns whether it is new.
    pub(in crate::daemon) fn notice(&mut self, key: NoticeKey, text: impl Into<String>) -> bool {
        let is_new = self.notices.set(key, text);
        if is_new {
            self.clients.status_changed();
        }
        is_new
    }

    /// It is over: says so to who looks, if it was said.
    pub(in crate::daemon) fn notice_over(&mut self, key: &NoticeKey) {
        if self.notices.clear(key) {
            self.clients.status_changed();
        }
    }
}
