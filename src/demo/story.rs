//! What the scripted agents say, written as agents write: what they looked at, and what follows.

/// The human's prompt with which the story begins.
pub(super) const PROMPT: &str =
    "Users are logged out at random under load. Find out why and fix it; have Codex review it.";

/// Claude's notes of its first turn.
pub(super) const GOAL: &str = "Users must not be logged out while their session is good.";
pub(super) const PLAN: &str = "1. Codex reviews src/refresh.rs for races. 2. Fix what it finds, \
    smallest change. 3. Run the tests under load. 4. Propose.";

/// The handoff.
pub(super) const ASK: &str = "Review src/refresh.rs for races: several threads call get() at once, \
    and invalidate() can come at any time.";
pub(super) const REASON: &str =
    "I wrote the callers and would read it with the same assumptions; you have not seen it.";
pub(super) const REFERENCE: &str = "src/refresh.rs";

/// What Codex says while it reviews.
pub(super) const REVIEW_COMMENT: &str =
    "Reading src/refresh.rs and drawing up which interleavings of get() and invalidate() exist.";
pub(super) const REVIEW_TITLE: &str = "src/refresh.rs: two races";
pub(super) const REVIEW_SUMMARY: &str =
    "get() drops the lock between the check and the store, so that fetches overlap.";
pub(super) const REVIEW_EVIDENCE: [&str; 2] = [
    "src/refresh.rs: the guard in get() ends before fetch() is called",
    "read by a scripted agent; no tool was run",
];
pub(super) const FINDINGS: &str = "Two findings in src/refresh.rs:\n\
    1. get() gives the lock up between the check and the store. Two callers fetch at once, and the \
    slower one overwrites a newer token with an older one.\n\
    2. invalidate() during a fetch is lost: the fetch stores the revoked token after it.";
pub(super) const REVIEW_ANSWER: &str = "Review done; the two findings are with Claude.";

/// Claude's second turn.
pub(super) const DECISION: &str = "One lock over check, fetch and store in get(). invalidate() then \
    waits for a running fetch and clears what it stored, so that both findings have one cure.";
pub(super) const QUESTION: &str = "I hold one lock over check, fetch and store now (src/refresh.rs \
    is changed). Does that close both findings, or does invalidate() still need a counter?";

/// The final answer of Codex's second turn.
pub(super) const FOLLOW_UP_COMMENT: &str = "Reading the changed src/refresh.rs.";
pub(super) const FOLLOW_UP_ANSWER: &str = "It closes both; no counter needed. What remains: a fetch \
    that hangs now blocks every caller, so fetch needs a timeout of its own.";

/// Claude's third turn.
pub(super) const REPORT_TITLE: &str = "refresh under load";
pub(super) const REPORT_SUMMARY: &str =
    "8 threads, 10,000 calls of get() with invalidate() in between: one fetch per expiry.";
pub(super) const REPORT_EVIDENCE: [&str; 2] = [
    "cargo test --release refresh_under_load",
    "claimed by a scripted agent; nothing was run",
];
pub(super) const PROPOSAL: &str = "get() holds one lock over check, fetch and store: no token is \
    overwritten by an older one, and a revoked token does not come back.";
pub(super) const PROPOSAL_EVIDENCE: [&str; 2] = [
    "Codex confirms that both findings are closed",
    "test report: refresh under load (claimed)",
];
pub(super) const RISK: &str = "A fetch that hangs blocks every caller until its own timeout.";

/// After the operator's decision.
pub(super) const APPROVED: &str = "The operator approved it. Nothing is left to do here.";
pub(super) const REWORKED: &str = "Went through it again with the operator's reason in mind; \
    being scripted, this agent can only say so.";

/// To anything that is not in the script.
pub(super) const CODEX_STRANGER: &str =
    "This is the demo: a scripted Codex that knows one task only. It has read your message.";
pub(super) const CLAUDE_STRANGER: &str =
    "This is the demo: a scripted Claude that knows one task only. It has read the message.";
