//! The operator's key: created, unlocked and used, in this process or by `ssh-keygen`.

pub(in crate::cli) mod ask_signed;
pub(in crate::cli) mod operator_key;
pub(in crate::cli) mod passphrase;
pub(in crate::cli) mod ssh_sign;
