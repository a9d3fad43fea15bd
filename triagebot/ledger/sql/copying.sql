-- A whole ledger from one database to another, page by page in the order of the primary key, every row as it is.
-- Texts are compared byte by byte, so that both databases, and Python, agree on which row comes next. What a table is
-- without is what a copy would lose: the tests compare these lists with the tables.

-- name: walk_by_key
-- For this transaction. An index gives the rows nearly in this order; but PostgreSQL's planner would rather read and sort
-- a whole table for every page of it (seen with 18.4 on 250 000 analysed rows: 383 ms a page, and 1 ms like this).
SELECT {walk_by_key} AS told;

-- name: page_runs
SELECT * FROM runs
 WHERE (repo_id, issue, key {bytewise}) > (:repo_id, :issue, :key)
 ORDER BY repo_id, issue, key {bytewise}
 LIMIT :rows;

-- name: put_runs
INSERT INTO runs (repo_id, issue, key, day, digest, status, owner, attempt, tries, night, lease_until, claimed_at,
                  ended_at, outcome, reason, verdict, model, prompt, requests, tokens_in, tokens_out)
VALUES (:repo_id, :issue, :key, :day, :digest, :status, :owner, :attempt, :tries, :night, :lease_until,
        :claimed_at, :ended_at, :outcome, :reason, :verdict, :model, :prompt, :requests, :tokens_in,
        :tokens_out)
ON CONFLICT DO NOTHING;

-- name: cut_runs
DELETE FROM runs WHERE repo_id = :repo_id AND issue = :issue AND key = :key;

-- name: count_runs
SELECT count(*) AS rows FROM runs;

-- name: page_outbox
SELECT * FROM outbox WHERE id > :id ORDER BY id LIMIT :rows;

-- name: put_outbox
INSERT INTO outbox (id, repo_id, issue, action, digest, key, day, status, was, payload, revise, owner, attempt, night,
                    lease_until, not_before, unproven, unproven_night, rested_night, reason,
                    remote_id, remote_node, created_at, updated_at)
VALUES (:id, :repo_id, :issue, :action, :digest, :key, :day, :status, :was, :payload, :revise, :owner,
        :attempt, :night, :lease_until, :not_before, :unproven, :unproven_night, :rested_night,
        :reason, :remote_id, :remote_node, :created_at, :updated_at)
ON CONFLICT DO NOTHING;

-- name: cut_outbox
DELETE FROM outbox WHERE id = :id;

-- name: count_outbox
SELECT count(*) AS rows FROM outbox;

-- name: page_nights
SELECT * FROM nights WHERE id > :id ORDER BY id LIMIT :rows;

-- name: put_nights
INSERT INTO nights (id, repo_id, repo, day, owner, started_at, finished_at, how, counts)
VALUES (:id, :repo_id, :repo, :day, :owner, :started_at, :finished_at, :how, :counts)
ON CONFLICT DO NOTHING;

-- name: cut_nights
DELETE FROM nights WHERE id = :id;

-- name: count_nights
SELECT count(*) AS rows FROM nights;

-- name: page_events
SELECT * FROM events WHERE id > :id ORDER BY id LIMIT :rows;

-- name: put_events
INSERT INTO events (id, at, what, repo_id, issue, action, key, owner, attempt, night, detail)
VALUES (:id, :at, :what, :repo_id, :issue, :action, :key, :owner, :attempt, :night, :detail)
ON CONFLICT DO NOTHING;

-- name: cut_events
DELETE FROM events WHERE id = :id;

-- name: count_events
SELECT count(*) AS rows FROM events;

-- name: page_pace
SELECT * FROM pace
 WHERE (host {bytewise}, account {bytewise}) > (:host, :account)
 ORDER BY host {bytewise}, account {bytewise}
 LIMIT :rows;

-- name: put_pace
INSERT INTO pace (host, account, next_at, tat, closed_until, strikes)
VALUES (:host, :account, :next_at, :tat, :closed_until, :strikes)
ON CONFLICT DO NOTHING;

-- name: cut_pace
DELETE FROM pace WHERE host = :host AND account = :account;

-- name: count_pace
SELECT count(*) AS rows FROM pace;

-- name: page_tombstones
SELECT * FROM tombstones WHERE (repo_id, issue) > (:repo_id, :issue) ORDER BY repo_id, issue LIMIT :rows;

-- name: put_tombstones
INSERT INTO tombstones (repo_id, issue, silent, reason, settled, noticed_at)
VALUES (:repo_id, :issue, :silent, :reason, :settled, :noticed_at)
ON CONFLICT DO NOTHING;

-- name: cut_tombstones
DELETE FROM tombstones WHERE repo_id = :repo_id AND issue = :issue;

-- name: count_tombstones
SELECT count(*) AS rows FROM tombstones;

-- name: page_outcomes
SELECT * FROM outcomes
 WHERE (repo_id, issue, label {bytewise}) > (:repo_id, :issue, :label)
 ORDER BY repo_id, issue, label {bytewise}
 LIMIT :rows;

-- name: put_outcomes
INSERT INTO outcomes (repo_id, issue, label, digest, model, prompt, set_at, outcome, noted_at)
VALUES (:repo_id, :issue, :label, :digest, :model, :prompt, :set_at, :outcome, :noted_at)
ON CONFLICT DO NOTHING;

-- name: cut_outcomes
DELETE FROM outcomes WHERE repo_id = :repo_id AND issue = :issue AND label = :label;

-- name: count_outcomes
SELECT count(*) AS rows FROM outcomes;

-- name: begin_copying
-- Only there while a copy has not ended: what it is a copy of, and for which tables it was begun.
CREATE TABLE copying (source TEXT NOT NULL, version BIGINT NOT NULL);

-- name: note_copying
INSERT INTO copying (source, version) VALUES (:source, :version);

-- name: begun_copying
SELECT source, version FROM copying;

-- name: end_copying
DROP TABLE copying;

-- name: number_on
-- The numbers of later rows come after those of the copied.
SELECT {numbered} AS numbered;
