-- Issues on which a person deleted our comment: no comment is written there again.

-- name: silence
INSERT INTO tombstones (repo_id, issue, silent, reason, noticed_at)
VALUES (:repo_id, :issue, 1, :reason, {utc})
    ON CONFLICT (repo_id, issue) DO UPDATE
   SET silent = 1, reason = excluded.reason, noticed_at = excluded.noticed_at;

-- name: lift_silence
-- A person asked for a comment again: the deletions up to now are settled, only later ones count.
INSERT INTO tombstones (repo_id, issue, silent, reason, settled, noticed_at)
VALUES (:repo_id, :issue, 0, 'lifted', :settled, {utc})
    ON CONFLICT (repo_id, issue) DO UPDATE
   SET silent = 0, reason = excluded.reason, settled = excluded.settled, noticed_at = excluded.noticed_at;

-- name: tombstone
SELECT silent, reason, settled, noticed_at FROM tombstones WHERE repo_id = :repo_id AND issue = :issue;
