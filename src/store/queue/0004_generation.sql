-- How often rows were written: a copy of an earlier day has a lower number.
ALTER TABLE marks ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
