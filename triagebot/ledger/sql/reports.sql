-- What people ask: status, show. `repo_id` 0 means every repository.

-- name: repositories
-- The name that was used last, for each repository.
SELECT repo_id, repo FROM nights
 WHERE id IN (SELECT max(id) FROM nights GROUP BY repo_id)
 ORDER BY repo, repo_id;

-- name: repository_named
SELECT repo_id FROM nights WHERE lower(repo) = lower(:repo) ORDER BY id DESC LIMIT 1;

-- name: nights
SELECT * FROM nights
 WHERE (:repo_id = 0 OR repo_id = :repo_id)
 ORDER BY id DESC
 LIMIT :nights;

-- name: last_good_night
SELECT max(finished_at) AS finished_at FROM nights
 WHERE (:repo_id = 0 OR repo_id = :repo_id) AND how = :good;

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
 GROUP BY day
 ORDER BY day DESC
 LIMIT :days;

-- name: issues_by_status
-- Each issue counts once, by its newest run: a failure that a later day made good is history.
SELECT status, count(*) AS issues
  FROM (SELECT status,
               row_number() OVER (PARTITION BY repo_id, issue
                                  ORDER BY coalesce(ended_at, claimed_at) DESC, day DESC) AS age
          FROM runs
         WHERE (:repo_id = 0 OR repo_id = :repo_id)) AS newest
 WHERE age = 1
 GROUP BY status;

-- name: writes_by_status
SELECT status, count(*) AS writes FROM outbox
 WHERE (:repo_id = 0 OR repo_id = :repo_id)
 GROUP BY status;

-- name: usage
-- An answer without a request came from the classifier on this machine; `standing` was no answer at all.
SELECT coalesce(sum(requests), 0) AS requests, sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out,
       coalesce(sum(CASE WHEN status = 'done' AND requests = 0 AND outcome <> 'standing' THEN 1 ELSE 0 END), 0) AS saved
  FROM runs
 WHERE (:repo_id = 0 OR repo_id = :repo_id);

-- name: runs_of_issue
SELECT * FROM runs WHERE repo_id = :repo_id AND issue = :issue ORDER BY coalesce(claimed_at, ended_at), day;

-- name: events_of_issue
SELECT * FROM events WHERE repo_id = :repo_id AND issue = :issue ORDER BY id;
