//! Redaction: the rule table.
