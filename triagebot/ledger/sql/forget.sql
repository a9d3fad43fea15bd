-- A drill takes its own rows out again.

-- name: forget_runs
DELETE FROM runs WHERE repo_id = :repo_id;

-- name: forget_outbox
DELETE FROM outbox WHERE repo_id = :repo_id;

-- name: forget_events
DELETE FROM events WHERE repo_id = :repo_id;

-- name: forget_tombstones
DELETE FROM tombstones WHERE repo_id = :repo_id;

-- name: forget_outcomes
DELETE FROM outcomes WHERE repo_id = :repo_id;

-- name: forget_nights
DELETE FROM nights WHERE repo_id = :repo_id;

-- name: forget_pace
DELETE FROM pace WHERE host = :host AND account = :account;
