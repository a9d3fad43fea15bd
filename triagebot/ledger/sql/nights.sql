-- Nights, and the journal of every transition.

-- name: open_night
INSERT INTO nights (repo_id, repo, day, owner, started_at)
VALUES (:repo_id, :repo, :day, :owner, {utc})
RETURNING id;

-- name: finished_night
-- Whether a night of this repository ever came to its end: without one, the ledger is new or lost.
SELECT id FROM nights WHERE repo_id = :repo_id AND finished_at IS NOT NULL LIMIT 1;

-- name: close_night
UPDATE nights
   SET finished_at = {utc}, how = :how, counts = :counts
 WHERE id = :id AND owner = :owner
RETURNING id;

-- name: event
INSERT INTO events (at, what, repo_id, issue, action, key, owner, attempt, night, detail)
VALUES ({utc}, :what, :repo_id, :issue, :action, :key, :owner, :attempt, :night, :detail);
