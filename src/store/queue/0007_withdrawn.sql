-- Nobody is to get it any more: it is asked back from Codex's own queue.
ALTER TABLE deliveries ADD COLUMN withdrawn INTEGER NOT NULL DEFAULT 0;
