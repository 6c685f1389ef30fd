//! [`Fault`]: mistakes of other relays, put back one at a time to see that the simulation finds
//! them. Not in any program that is built.

/// A mistake to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// `turn/start` on a busy thread is taken for the beginning of a turn.
    BusyStart,
    /// What waits is handed over in one text, under the id of the first.
    Glue,
    /// A request counts as known before it is recorded, and stays so when that fails.
    DedupeBeforeAdmission,
    /// What waits is forgotten when the terminal quits.
    ClearedWithTerminal,
    /// The watchdog runs on while an approval is open.
    WatchdogDuringApproval,
    /// Facts of an app-server or an attempt that is gone are believed.
    StaleGeneration,
    /// What nobody can know the fate of is sent again by itself.
    ResendAmbiguous,
    /// What was read counts as delivered, though the answer may never have arrived.
    ReadConsumes,
    /// Messages go out while the receiver is at its limit.
    LimitIgnored,
    /// A new bridge counts as knowing what the one before it was told.
    CursorLost,
    /// The next process does not know that the receiver is at its limit.
    LimitNotCarried,
    /// What one hook had no room for is rung for once, and then waits for a human.
    BacklogStranded,
    /// What a hook can carry overtakes what was shown cut.
    CutOvertaken,
    /// What hooks handed over waits for an acknowledgement that nobody asks for.
    NeverRead,
    /// What a turn had whose words are read later is left unread.
    ReadLaterForgotten,
    /// A turn of Claude that works lets others go before what died of the limit.
    DiedOvertaken,
    /// What Codex holds waits for the human, whoever ended the turn before it.
    HeldByNobody,
    /// Bodies leave while the rows that say so are on their way to the disk.
    SentBeforeDurable,
    /// A row that was given to the disk before its message was recorded counts as being there.
    RowAheadBelieved,
    /// A message that is sent again counts as delivered by the turn that had it before.
    EarlierTurnBelieved,
    /// What a turn waits for is left in the queue behind that turn.
    LeftBehindItsTurn,
    /// The next process does not know what was taken back.
    TakenBackForgotten,
    /// The ladder goes on with a turn whose Claude has gone and come back.
    LostTurnKept,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 23] = [
        Self::BusyStart,
        Self::Glue,
        Self::DedupeBeforeAdmission,
        Self::ClearedWithTerminal,
        Self::WatchdogDuringApproval,
        Self::StaleGeneration,
        Self::ResendAmbiguous,
        Self::ReadConsumes,
        Self::LimitIgnored,
        Self::CursorLost,
        Self::LimitNotCarried,
        Self::BacklogStranded,
        Self::CutOvertaken,
        Self::NeverRead,
        Self::ReadLaterForgotten,
        Self::DiedOvertaken,
        Self::HeldByNobody,
        Self::SentBeforeDurable,
        Self::RowAheadBelieved,
        Self::EarlierTurnBelieved,
        Self::LeftBehindItsTurn,
        Self::TakenBackForgotten,
        Self::LostTurnKept,
    ];
}
