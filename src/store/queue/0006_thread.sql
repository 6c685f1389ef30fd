-- The conversation of Codex's that the attempt goes into.
ALTER TABLE deliveries ADD COLUMN thread TEXT;
