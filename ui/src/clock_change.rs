//! [`Deck::follow_clock`] and [`Deck::show_notice`]: what disappears after some seconds does so
//! after as many, whatever the clock does and whenever the deck was last drawn.

use crate::deck::{Deck, NOTICE_MS};

/// By less than this it is not put back: a view is of a moment before the last tick.
const PUT_BACK_MS: i64 = 1_000;

impl Deck {
    /// Takes the time from now on.
    pub(crate) fn follow_clock(&mut self, now_ms: i64) {
        let by_ms = self.view.now_ms.saturating_sub(now_ms);
        if !self.seen || by_ms < PUT_BACK_MS {
            return;
        }
        if let Some(notice) = self.notice.as_mut()
            && notice.until_ms != i64::MAX
        {
            notice.until_ms = notice.until_ms.saturating_sub(by_ms);
        }
        if let Some(receipt) = self.receipt.as_mut() {
            receipt.put_back(by_ms);
        }
        self.inbox.put_back(by_ms);
        self.work.put_back(by_ms);
        self.news.put_back(by_ms);
    }

    /// The next frame is of now. What was said since the last one stands for its time from here on:
    /// on a quiet screen that frame may be older than a sentence lasts.
    pub(crate) fn show_notice(&mut self) {
        let until_ms = self.view.now_ms.saturating_add(NOTICE_MS);
        if let Some(notice) = self.notice.as_mut()
            && !std::mem::replace(&mut notice.is_shown, true)
        {
            notice.until_ms = notice.until_ms.max(until_ms);
        }
    }
}
