-- Segments lie in the order they were written, and an index leads to them. Before, they lay in the tree of
-- their key, where SQLite keeps no more than a quarter of a page (1001 bytes) of a row: the segment of a small
-- task is a little larger, and the rest of it went to a page of its own, 3.5 KB of it empty. Measured for tasks
-- that end in their first commit, 16 to a commit: 1.4 pages of the file for each became 0.6, 18 KB written
-- became 11, and the writer thread needs a quarter less CPU.
ALTER TABLE events RENAME TO events_by_key;

CREATE TABLE events (
    task_id TEXT    NOT NULL,
    seq     INTEGER NOT NULL,
    count   INTEGER NOT NULL,
    body    BLOB    NOT NULL,
    PRIMARY KEY (task_id, seq)
);

INSERT INTO events (task_id, seq, count, body)
SELECT task_id, seq, count, body FROM events_by_key ORDER BY task_id, seq;

DROP TABLE events_by_key;
