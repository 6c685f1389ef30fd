-- One row for each message that is not settled yet.
CREATE TABLE deliveries (
    id              TEXT    PRIMARY KEY,
    seq             INTEGER NOT NULL,
    receiver        TEXT    NOT NULL CHECK (receiver IN ('claude', 'codex')),
    runtime_session TEXT    NOT NULL,
    on_busy         TEXT    NOT NULL,
    state           TEXT    NOT NULL,
    attempts        INTEGER NOT NULL,
    attempt         TEXT,
    changed_ms      INTEGER NOT NULL
) STRICT;

-- Always exactly one row.
CREATE TABLE marks (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    high_water INTEGER NOT NULL
) STRICT;

INSERT INTO marks (one, high_water) VALUES (1, 0);
