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

-- The files of capsules whose words are in, by the number of the words. One with another stamp is
-- not that file any more.
CREATE TABLE capsules (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    is_foreign INTEGER NOT NULL,
    id TEXT NOT NULL,
    stamp TEXT NOT NULL,
    UNIQUE (is_foreign, id)
) STRICT;

-- The sealed sessions whose words are in, by the number of the words; up to which entry, and whether
-- that is all. One with another stamp is not that file any more.
CREATE TABLE sealed (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL UNIQUE,
    stamp TEXT NOT NULL,
    upto INTEGER NOT NULL,
    is_whole INTEGER NOT NULL
) STRICT;

-- Where the line of each of their entries begins in its file, by the rowid of its words: the number
-- of the session times 2^32, and its own.
CREATE TABLE sealed_lines (
    place INTEGER PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT;

-- Words as above.
CREATE VIRTUAL TABLE sealed_words USING fts5(
    text,
    content = '',
    columnsize = 0,
    tokenize = 'ascii',
    prefix = '1 2 3'
);

-- Words as above. Those of a file that was replaced stay under a number that names nothing.
CREATE VIRTUAL TABLE capsule_words USING fts5(
    text,
    content = '',
    columnsize = 0,
    tokenize = 'ascii',
    prefix = '1 2 3'
);
