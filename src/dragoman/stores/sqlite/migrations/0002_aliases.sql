-- Ids that clients of A2A 0.1 made up for their tasks. They are unique to their owner, not beyond.
CREATE TABLE aliases (
    tenant  TEXT NOT NULL,
    owner   TEXT NOT NULL,
    alias   TEXT NOT NULL,
    task_id TEXT NOT NULL,
    PRIMARY KEY (tenant, owner, alias)
) WITHOUT ROWID;
