//! The ledger line.
