-- Claim, run, finish. Every write after the claim names owner and attempt and returns a row, or hit nothing.

-- name: claim
-- One statement, one winner. A text with a verdict of any day, or one given up, is not claimed again
-- but on request. A row is claimed at most once a night; the try is counted here, so that a crash costs one.
INSERT INTO runs (repo_id, issue, key, day, digest, status, owner, attempt, tries, night, lease_until, claimed_at)
SELECT :repo_id, :issue, :key, :day, :digest, 'running', :owner, 1, 1, :night, {now} + :lease, {utc}
 WHERE :again = 1
    OR NOT EXISTS (SELECT 1 FROM runs
                    WHERE repo_id = :repo_id AND issue = :issue AND digest = :digest AND status IN ('done', 'dead'))
    ON CONFLICT (repo_id, issue, key) DO UPDATE
   SET status = 'running',
       owner = excluded.owner,
       attempt = runs.attempt + 1,
       tries = runs.tries + 1,
       night = excluded.night,
       lease_until = excluded.lease_until,
       claimed_at = excluded.claimed_at,
       ended_at = NULL,
       reason = NULL
 WHERE runs.night <> excluded.night
   AND (runs.tries < :max_tries AND runs.status = 'failed'
     OR runs.tries < :max_tries AND runs.status = 'running' AND runs.lease_until <= {now}
     OR :again = 1 AND runs.status <> 'running')
RETURNING attempt;

-- name: finish
-- The verdict. In the same transaction: `supersede` what waits from before, and `plan` the writes.
UPDATE runs
   SET status = 'done',
       outcome = :outcome,
       verdict = :verdict,
       model = :model,
       prompt = :prompt,
       reason = NULL,
       lease_until = NULL,
       ended_at = {utc},
       requests = requests + :requests,
       tokens_in = coalesce(tokens_in + :tokens_in, tokens_in, :tokens_in),
       tokens_out = coalesce(tokens_out + :tokens_out, tokens_out, :tokens_out)
 WHERE repo_id = :repo_id AND issue = :issue AND key = :key
   AND owner = :owner AND attempt = :attempt AND status = 'running'
RETURNING attempt;

-- name: fail
-- The row keeps its owner: whoever failed it may still find that the endpoint was to blame, and release it.
UPDATE runs
   SET status = 'failed',
       reason = :reason,
       lease_until = NULL,
       ended_at = {utc},
       requests = requests + :requests,
       tokens_in = coalesce(tokens_in + :tokens_in, tokens_in, :tokens_in),
       tokens_out = coalesce(tokens_out + :tokens_out, tokens_out, :tokens_out)
 WHERE repo_id = :repo_id AND issue = :issue AND key = :key
   AND owner = :owner AND attempt = :attempt AND status = 'running'
RETURNING attempt;

-- name: release
-- Gives the try back, once: the owner goes with it.
UPDATE runs
   SET status = 'failed',
       reason = :reason,
       owner = '',
       tries = CASE WHEN tries > 0 THEN tries - 1 ELSE 0 END,
       lease_until = NULL,
       ended_at = {utc},
       requests = requests + :requests,
       tokens_in = coalesce(tokens_in + :tokens_in, tokens_in, :tokens_in),
       tokens_out = coalesce(tokens_out + :tokens_out, tokens_out, :tokens_out)
 WHERE repo_id = :repo_id AND issue = :issue AND key = :key
   AND owner = :owner AND attempt = :attempt AND status IN ('running', 'failed', 'dead')
RETURNING attempt;

-- name: give_up
-- A text that failed on so many days is dead until a person says otherwise. A day whose tries were
-- all given back is no failed day.
UPDATE runs
   SET status = 'dead', reason = 'failed on ' || :max_days || ' days: ' || reason
 WHERE repo_id = :repo_id AND issue = :issue AND key = :key AND status = 'failed'
   AND (SELECT count(DISTINCT day) FROM runs
         WHERE repo_id = :repo_id AND issue = :issue AND digest = :digest
           AND status IN ('failed', 'dead') AND tries > 0) >= :max_days
RETURNING reason;

-- name: lapse_runs
-- Leases that are over and that no claim of `key` can take up: another key's, or one without tries left.
-- `issue` 0 means every issue of the repository.
UPDATE runs
   SET status = 'failed', reason = 'crashed', owner = '', lease_until = NULL, ended_at = {utc}
 WHERE (repo_id, issue, key) IN (
           SELECT repo_id, issue, key FROM runs
            WHERE repo_id = :repo_id AND (:issue = 0 OR issue = :issue)
              AND status = 'running' AND lease_until <= {now}
              AND (key <> :key OR tries >= :max_tries) {skip_locked})
RETURNING repo_id, issue, key, digest, attempt, night;

-- name: why_unclaimed
SELECT coalesce(max(CASE WHEN digest = :digest AND status = 'done' THEN 1 END), 0) AS answered,
       coalesce(max(CASE WHEN digest = :digest AND status = 'dead' THEN 1 END), 0) AS dead,
       coalesce(max(CASE WHEN status = 'running' AND lease_until > {now} THEN 1 END), 0) AS held,
       coalesce(max(CASE WHEN key = :key AND night = :night THEN 1 END), 0) AS tried
  FROM runs
 WHERE repo_id = :repo_id AND issue = :issue;

-- name: adopt
-- Our own comment for this text stands, but no verdict is known: the comment is the answer.
INSERT INTO runs (repo_id, issue, key, day, digest, status, owner, attempt, tries, night, outcome, verdict, ended_at)
SELECT :repo_id, :issue, :key, :day, :digest, 'done', :owner, 0, 0, 0, :outcome, :verdict, {utc}
 WHERE NOT EXISTS (SELECT 1 FROM runs
                    WHERE repo_id = :repo_id AND issue = :issue AND digest = :digest AND status = 'done')
    ON CONFLICT (repo_id, issue, key) DO UPDATE
   SET status = 'done',
       owner = excluded.owner,
       outcome = excluded.outcome,
       verdict = excluded.verdict,
       ended_at = excluded.ended_at,
       reason = NULL
 WHERE runs.status <> 'running'
RETURNING attempt;

-- name: newest_verdict
SELECT verdict FROM runs
 WHERE repo_id = :repo_id AND issue = :issue AND digest = :digest AND status = 'done'
 ORDER BY ended_at DESC, day DESC
 LIMIT 1;

-- name: attempts
SELECT coalesce(max(attempt), 0) AS attempts,
       max(CASE WHEN status = 'dead' THEN reason END) AS dead
  FROM runs
 WHERE repo_id = :repo_id AND issue = :issue AND digest = :digest;

-- name: retry_runs
-- New tries for what failed or was given up. 0 means every repository, every issue.
UPDATE runs
   SET status = 'failed', tries = 0, owner = ''
 WHERE (:repo_id = 0 OR repo_id = :repo_id) AND (:issue = 0 OR issue = :issue)
   AND (status = 'dead' OR status = 'failed' AND tries > 0)
RETURNING repo_id, issue, key, attempt, night;
