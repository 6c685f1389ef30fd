-- The turn of Claude that had it is known to have left it unread.
ALTER TABLE deliveries ADD COLUMN lost_turn INTEGER NOT NULL DEFAULT 0;
