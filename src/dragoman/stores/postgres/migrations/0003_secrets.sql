-- Answers that must not be seen, encrypted with a key that is not here. They go when their task ends.
CREATE TABLE secrets (
    task_id text    COLLATE "C" NOT NULL,
    n       integer NOT NULL,
    body    bytea   NOT NULL,
    PRIMARY KEY (task_id, n)
);
