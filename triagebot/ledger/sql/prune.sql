-- What nobody will ask for again, last touched before `before`. Whatever keeps an issue from a second model call or a
-- second comment stays: the newest answer of each text, given-up texts, recorded comments, deleted ones.

-- name: clock
SELECT {utc} AS utc;

-- name: prune_events
DELETE FROM events WHERE at < :before RETURNING id;

-- name: prune_nights
-- The newest of each repository stays, the newest that ended (without one, a ledger counts as lost) and the newest good.
DELETE FROM nights
 WHERE started_at < :before
   AND id NOT IN (SELECT max(id) FROM nights GROUP BY repo_id)
   AND id NOT IN (SELECT max(id) FROM nights WHERE finished_at IS NOT NULL GROUP BY repo_id)
   AND id NOT IN (SELECT max(id) FROM nights WHERE how = :good GROUP BY repo_id)
RETURNING id;

-- name: prune_runs
-- Failures, and answers that a later day's answer to the same text has taken the place of.
DELETE FROM runs
 WHERE ended_at < :before
   AND (status = 'failed'
     OR status = 'done'
        AND EXISTS (SELECT 1 FROM runs AS n
                     WHERE n.repo_id = runs.repo_id AND n.issue = runs.issue AND n.digest = runs.digest
                       AND n.status = 'done' AND (n.ended_at, n.day) > (runs.ended_at, runs.day)))
RETURNING issue;

-- name: prune_outbox
-- Writes for texts that the issue no longer has, unless a comment is known by them.
DELETE FROM outbox
 WHERE updated_at < :before
   AND status IN ('sent', 'withdrawn', 'dead')
   AND remote_id IS NULL
   AND EXISTS (SELECT 1 FROM outbox AS n
                WHERE n.repo_id = outbox.repo_id AND n.issue = outbox.issue AND n.action = outbox.action
                  AND n.id > outbox.id)
RETURNING id;

-- name: prune_outcomes
DELETE FROM outcomes WHERE noted_at < :before RETURNING label;
