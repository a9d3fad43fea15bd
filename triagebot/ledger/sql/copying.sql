-- A whole ledger from one database to another: every row as it is, and the numbers of later ones after those of
-- the copied. What a table is without is what a copy would lose: the tests compare these lists with the tables.

-- name: every_runs
SELECT * FROM runs ORDER BY repo_id, issue, key;

-- name: put_runs
INSERT INTO runs (repo_id, issue, key, day, digest, status, owner, attempt, tries, night, lease_until, claimed_at,
                  ended_at, outcome, reason, verdict, model, prompt, requests, tokens_in, tokens_out)
VALUES (:repo_id, :issue, :key, :day, :digest, :status, :owner, :attempt, :tries, :night, :lease_until,
        :claimed_at, :ended_at, :outcome, :reason, :verdict, :model, :prompt, :requests, :tokens_in,
        :tokens_out);

-- name: every_outbox
SELECT * FROM outbox ORDER BY id;

-- name: put_outbox
INSERT INTO outbox (id, repo_id, issue, action, digest, key, day, status, was, payload, revise, owner, attempt, night,
                    lease_until, not_before, unproven, unproven_night, rested_night, reason,
                    remote_id, remote_node, created_at, updated_at)
VALUES (:id, :repo_id, :issue, :action, :digest, :key, :day, :status, :was, :payload, :revise, :owner,
        :attempt, :night, :lease_until, :not_before, :unproven, :unproven_night, :rested_night,
        :reason, :remote_id, :remote_node, :created_at, :updated_at);

-- name: every_nights
SELECT * FROM nights ORDER BY id;

-- name: put_nights
INSERT INTO nights (id, repo_id, repo, day, owner, started_at, finished_at, how, counts)
VALUES (:id, :repo_id, :repo, :day, :owner, :started_at, :finished_at, :how, :counts);

-- name: every_events
SELECT * FROM events ORDER BY id;

-- name: put_events
INSERT INTO events (id, at, what, repo_id, issue, action, key, owner, attempt, night, detail)
VALUES (:id, :at, :what, :repo_id, :issue, :action, :key, :owner, :attempt, :night, :detail);

-- name: every_pace
SELECT * FROM pace ORDER BY host, account;

-- name: put_pace
INSERT INTO pace (host, account, next_at, tat, closed_until, strikes)
VALUES (:host, :account, :next_at, :tat, :closed_until, :strikes);

-- name: every_tombstones
SELECT * FROM tombstones ORDER BY repo_id, issue;

-- name: put_tombstones
INSERT INTO tombstones (repo_id, issue, silent, reason, settled, noticed_at)
VALUES (:repo_id, :issue, :silent, :reason, :settled, :noticed_at);

-- name: number_on
SELECT {numbered} AS numbered;
