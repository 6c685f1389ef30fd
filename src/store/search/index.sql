-- Up to where the ledger is in the index; no row in a new one.
CREATE TABLE bound (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    session TEXT NOT NULL,
    seq INTEGER NOT NULL,
    hash TEXT NOT NULL
) STRICT;

-- The words of each entry, its number as rowid. They come cut and folded, so that SQLite has only
-- to split them at the spaces: the tokenizer `ascii` takes every other character for a part of a
-- word. No text is kept (`content`), and nothing for ranking (`columnsize`).
CREATE VIRTUAL TABLE words USING fts5(
    text,
    content = '',
    columnsize = 0,
    tokenize = 'ascii',
    prefix = '1 2 3'
);
