-- What people ask: status, show. `repo_id` 0 means every repository.

-- name: repositories
-- The name that was used last, for each repository.
SELECT id, repo_id, repo FROM nights
 WHERE id IN (SELECT max(id) FROM nights GROUP BY repo_id)
 ORDER BY repo, repo_id;

-- name: repository_named
SELECT repo_id FROM nights WHERE lower(repo) = lower(:repo) ORDER BY id DESC LIMIT 1;

-- name: nights
SELECT * FROM nights
 WHERE (:repo_id = 0 OR repo_id = :repo_id)
 ORDER BY id DESC
 LIMIT :nights;

-- name: night
SELECT * FROM nights WHERE id = :id;

-- name: last_good_night
-- A night that ended in the future, by a clock that was wrong, proves nothing.
SELECT max(finished_at) AS finished_at FROM nights
 WHERE (:repo_id = 0 OR repo_id = :repo_id) AND how = :good AND finished_at <= {utc};

-- name: first_of_last_days
-- The first of the newest days: down the index, a step for each day.
WITH RECURSIVE newest (day, number) AS (
    SELECT max(day), 1 FROM runs WHERE (:repo_id = 0 OR repo_id = :repo_id)
     UNION ALL
    SELECT (SELECT max(day) FROM runs AS r WHERE (:repo_id = 0 OR r.repo_id = :repo_id) AND r.day < newest.day),
           number + 1
      FROM newest
     WHERE day IS NOT NULL AND number < :days
)
SELECT min(day) AS day FROM newest;

-- name: days
SELECT day,
       sum(done) AS done,
       sum(labelled) AS labelled,
       sum(nothing_fits) AS nothing_fits,
       sum(failed) AS failed,
       sum(dead) AS dead,
       sum(requests) AS requests,
       sum(tokens_in) AS tokens_in,
       sum(tokens_out) AS tokens_out
  FROM done_per_day
 WHERE (:repo_id = 0 OR repo_id = :repo_id)
   AND day >= :since
 GROUP BY day
 ORDER BY day DESC;

-- name: unsettled_issues
-- Each issue counts once, by its newest run: a failure that a later run made good is history.
SELECT status, count(*) AS issues
  FROM (SELECT * FROM runs WHERE status = 'running'
         UNION ALL
        SELECT * FROM runs WHERE status IN ('failed', 'dead')) AS r
 WHERE (:repo_id = 0 OR repo_id = :repo_id)
   AND NOT EXISTS (SELECT 1 FROM runs AS n
                    WHERE n.repo_id = r.repo_id AND n.issue = r.issue
                      AND (coalesce(n.ended_at, n.claimed_at), n.day, n.key)
                        > (coalesce(r.ended_at, r.claimed_at), r.day, r.key))
 GROUP BY status;

-- name: all_issues
SELECT count(*) AS issues
  FROM (SELECT DISTINCT repo_id, issue FROM runs WHERE (:repo_id = 0 OR repo_id = :repo_id)) AS known;

-- name: unsettled_writes
SELECT status, count(*) AS writes FROM outbox
 WHERE repo_id IN (SELECT repo_id FROM nights WHERE (:repo_id = 0 OR repo_id = :repo_id))
   AND status IN ('pending', 'sending', 'unknown', 'dead')
 GROUP BY status;

-- name: all_writes
SELECT status, sum(writes) AS writes
  FROM (SELECT status, count(*) AS writes FROM outbox
         WHERE (:repo_id = 0 OR repo_id = :repo_id)
         GROUP BY repo_id, status) AS counted
 GROUP BY status;

-- name: usage
-- An answer without a request came from the classifier on this machine; `standing` was no answer at all.
SELECT coalesce(sum(requests), 0) AS requests, sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out,
       coalesce(sum(CASE WHEN requests = 0 AND status = 'done' AND outcome <> 'standing' THEN 1 ELSE 0 END), 0) AS saved
  FROM runs
 WHERE (:repo_id = 0 OR repo_id = :repo_id);

-- name: runs_of_issue
SELECT * FROM runs WHERE repo_id = :repo_id AND issue = :issue ORDER BY coalesce(claimed_at, ended_at), day;

-- name: events_of_issue
SELECT * FROM events WHERE repo_id = :repo_id AND issue = :issue ORDER BY id;
