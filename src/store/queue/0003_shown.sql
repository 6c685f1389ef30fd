-- What of the text has left for the model: nothing, its head, its head and its rest, or the whole.
ALTER TABLE deliveries ADD COLUMN shown TEXT NOT NULL DEFAULT 'nothing'
    CHECK (shown IN ('nothing', 'head', 'rest', 'whole'));
UPDATE deliveries SET shown = 'whole' WHERE maybe_shown = 1;
ALTER TABLE deliveries DROP COLUMN maybe_shown;
