//! [`Masking`]: the redaction rules of `config.json`, by which a command masks its output.

use crate::cli::exit::Failure;
use crate::core::redact::{OwnRules, Redactor};
use crate::host::ProjectContext;
use crate::store::config::{self, Loaded};
use crate::wire::control::ProgramCode;

/// The rules as they count now, and whether they are all that the operator wants.
pub(in crate::cli) struct Masking {
    rules: OwnRules,
    doubt: Option<String>,
}

impl Masking {
    /// Those of a project.
    pub(in crate::cli) fn load(project: &ProjectContext) -> Self {
        Self::of(&config::load(&project.dirs, &project.user_dirs))
    }

    /// Those of a configuration that was read.
    pub(in crate::cli) fn of(loaded: &Loaded) -> Self {
        Self {
            rules: loaded.rules.clone(),
            doubt: loaded.masking_doubt(),
        }
    }

    /// Masks by these rules.
    pub(in crate::cli) fn redactor(&self) -> Redactor {
        Redactor::with(self.rules.clone())
    }

    /// Tells who looks at what is masked by these rules what may be missing.
    pub(in crate::cli) fn tell(&self, note: &dyn Fn(&str)) {
        if let Some(remark) = self.remark() {
            note(&remark);
        }
    }

    /// What a person has to know who looks at what was masked by these rules.
    pub(in crate::cli) fn remark(&self) -> Option<String> {
        let doubt = self.doubt.as_ref()?;
        Some(format!(
            "{doubt}; what only a redaction rule of yours masks may be shown here"
        ))
    }

    /// Nothing goes out of the project while a rule may be missing: what left cannot be taken back.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or one of its rules cannot.
    pub(in crate::cli) fn check_to_go_out(&self) -> Result<(), Failure> {
        let Some(doubt) = &self.doubt else {
            return Ok(());
        };
        Err(Failure::state(
            ProgramCode::BadConfig,
            format!("{doubt}, so that what your redaction rules mask would go out: nothing did"),
            "mend .contextrelay/config.json: `ctxrelay config show` says what is wrong",
        ))
    }
}
