-- What became of each label that was set: one row for one label on one issue, changed only when people changed it.
CREATE TABLE outcomes (
    repo_id  BIGINT NOT NULL,
    issue    BIGINT NOT NULL,
    label    TEXT   NOT NULL,                                     -- as it was spelt when it was set
    digest   TEXT   NOT NULL,                                     -- the text whose verdict named it
    model    TEXT,                                                -- NULL: the run was pruned before it was seen
    prompt   TEXT,
    set_at   TEXT   NOT NULL,                                     -- the tracker's time
    outcome  TEXT   NOT NULL CHECK (outcome IN ('kept', 'removed', 'replaced', 'undone')),
    noted_at TEXT   NOT NULL,                                     -- when it was first seen like this
    PRIMARY KEY (repo_id, issue, label)
);
CREATE INDEX outcomes_by_time ON outcomes (repo_id, set_at);
