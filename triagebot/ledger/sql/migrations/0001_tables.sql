-- The tables of the ledger. Steps are numbered and append-only: never edit one, add the next.
-- Times that people read are UTC ISO-8601 text; the gates (lease_until, not_before, next_at, tat,
-- closed_until) are seconds since the epoch by the database's clock.

-- A claim and its verdict: one row for one text of one issue on one day.
CREATE TABLE runs (
    repo_id     BIGINT  NOT NULL,
    issue       BIGINT  NOT NULL,
    key         TEXT    NOT NULL,
    day         TEXT    NOT NULL,
    digest      TEXT    NOT NULL,
    status      TEXT    NOT NULL CHECK (status IN ('running', 'done', 'failed', 'dead')),
    owner       TEXT    NOT NULL,                                 -- '' when nobody may write the row any more
    attempt     BIGINT  NOT NULL,                                 -- fencing token: +1 at every claim, never lowered
    tries       BIGINT  NOT NULL CHECK (tries >= 0),              -- budget of failures: counted at the claim
    night       BIGINT  NOT NULL,                                 -- the night that claimed it last, 0: none did
    lease_until DOUBLE PRECISION,
    claimed_at  TEXT,
    ended_at    TEXT,
    outcome     TEXT,
    reason      TEXT,
    verdict     TEXT,                                             -- JSON
    model       TEXT,
    prompt      TEXT,
    requests    BIGINT  NOT NULL DEFAULT 0,
    tokens_in   BIGINT,                                           -- NULL: the server never said
    tokens_out  BIGINT,
    PRIMARY KEY (repo_id, issue, key)
);

-- One worker for an issue, whatever the day and the text.
CREATE UNIQUE INDEX runs_one_running ON runs (repo_id, issue) WHERE status = 'running';
CREATE INDEX runs_by_digest ON runs (repo_id, issue, digest);

-- One write to the tracker: the action, and the votes from which its words are made when it is sent.
CREATE TABLE outbox (
    id             {serial},
    repo_id        BIGINT  NOT NULL,
    issue          BIGINT  NOT NULL,
    action         TEXT    NOT NULL CHECK (action IN ('labels', 'comment')),
    digest         TEXT    NOT NULL,
    key            TEXT    NOT NULL,
    day            TEXT    NOT NULL,
    status         TEXT    NOT NULL CHECK (status IN ('pending', 'sending', 'sent', 'unknown', 'withdrawn', 'dead')),
    was            TEXT    NOT NULL DEFAULT '',                   -- the status that the last claim found
    payload        TEXT    NOT NULL,                              -- JSON list of votes
    revise         BIGINT  NOT NULL DEFAULT 0,                    -- 1: edit the comment that stands
    owner          TEXT    NOT NULL DEFAULT '',
    attempt        BIGINT  NOT NULL DEFAULT 0,
    night          BIGINT  NOT NULL DEFAULT 0,                    -- the night that claimed it last
    lease_until    DOUBLE PRECISION,
    not_before     DOUBLE PRECISION NOT NULL DEFAULT 0,
    unproven       BIGINT  NOT NULL DEFAULT 0,                    -- nights that did not learn what became of it
    unproven_night BIGINT  NOT NULL DEFAULT 0,                    -- the last of them: one night counts once
    rested_night   BIGINT  NOT NULL DEFAULT 0,                    -- the night that leaves it alone from now on
    reason         TEXT,
    remote_id      BIGINT,
    remote_node    TEXT,
    created_at     TEXT    NOT NULL,
    updated_at     TEXT    NOT NULL,
    UNIQUE (repo_id, issue, action, digest)
);

-- One text in flight, and one waiting behind it.
CREATE UNIQUE INDEX outbox_one_in_flight ON outbox (repo_id, issue, action) WHERE status IN ('sending', 'unknown');
CREATE UNIQUE INDEX outbox_one_waiting ON outbox (repo_id, issue, action) WHERE status = 'pending';
CREATE INDEX outbox_by_status ON outbox (repo_id, status);

-- Each run of the job over one repository.
CREATE TABLE nights (
    id          {serial},
    repo_id     BIGINT NOT NULL,
    repo        TEXT   NOT NULL,
    day         TEXT   NOT NULL,
    owner       TEXT   NOT NULL,
    started_at  TEXT   NOT NULL,
    finished_at TEXT,
    how         TEXT,
    counts      TEXT   NOT NULL DEFAULT '{}'                      -- JSON
);

-- Append-only: every durable transition, written in the transaction that made it.
CREATE TABLE events (
    id      {serial},
    at      TEXT   NOT NULL,
    what    TEXT   NOT NULL,
    repo_id BIGINT,
    issue   BIGINT,
    action  TEXT,
    key     TEXT,
    owner   TEXT   NOT NULL,
    attempt BIGINT,
    night   BIGINT,
    detail  TEXT
);
CREATE INDEX events_by_issue ON events (repo_id, issue);

-- When the next write may go out, for one API host and account.
CREATE TABLE pace (
    host         TEXT NOT NULL,
    account      TEXT NOT NULL,
    next_at      DOUBLE PRECISION NOT NULL DEFAULT 0,
    tat          DOUBLE PRECISION NOT NULL DEFAULT 0,             -- theoretical arrival time, see reserve_slot
    closed_until DOUBLE PRECISION NOT NULL DEFAULT 0,
    strikes      BIGINT NOT NULL DEFAULT 0,                       -- limits in a row that did not say how long
    PRIMARY KEY (host, account)
);

-- Issues on which a comment of ours was deleted.
CREATE TABLE tombstones (
    repo_id    BIGINT NOT NULL,
    issue      BIGINT NOT NULL,
    silent     BIGINT NOT NULL,
    reason     TEXT   NOT NULL,
    settled    TEXT   NOT NULL DEFAULT '[]',                      -- JSON list of ids that no longer count
    noticed_at TEXT   NOT NULL,
    PRIMARY KEY (repo_id, issue)
);

CREATE VIEW done_per_day AS
SELECT day,
       repo_id,
       sum(CASE WHEN status = 'done' THEN 1 ELSE 0 END) AS done,
       sum(CASE WHEN status = 'done' AND outcome = 'labelled' THEN 1 ELSE 0 END) AS labelled,
       sum(CASE WHEN status = 'done' AND outcome = 'nothing-fits' THEN 1 ELSE 0 END) AS nothing_fits,
       sum(CASE WHEN status = 'failed' THEN 1 ELSE 0 END) AS failed,
       sum(CASE WHEN status = 'dead' THEN 1 ELSE 0 END) AS dead,
       sum(requests) AS requests,
       sum(tokens_in) AS tokens_in,
       sum(tokens_out) AS tokens_out
  FROM runs
 GROUP BY day, repo_id;
