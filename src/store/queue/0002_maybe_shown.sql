-- An attempt may have shown the message to the model. Of attempts that were made before this was
-- kept nobody knows, so that they count as such.
ALTER TABLE deliveries ADD COLUMN maybe_shown INTEGER NOT NULL DEFAULT 0;
UPDATE deliveries SET maybe_shown = 1 WHERE attempts > 0 AND receiver = 'claude';
