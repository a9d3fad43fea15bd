-- What people did with the labels that were set.

-- name: known_outcomes
SELECT issue, label, digest, set_at, outcome FROM outcomes
 WHERE repo_id = :repo_id AND set_at >= :since
 ORDER BY issue, label;

-- name: note_outcome
-- Model and prompt are those of the answer that led to the label: the newest of its text that was there at `answered`
-- (`--again` may have given it another since), else the first. They are looked up once; later only the outcome changes.
INSERT INTO outcomes (repo_id, issue, label, digest, model, prompt, set_at, outcome, noted_at)
SELECT :repo_id, :issue, :label, :digest, r.model, r.prompt, :set_at, :outcome, {utc}
  FROM (SELECT 1 AS one) AS o
  LEFT JOIN (SELECT model, prompt FROM runs
              WHERE repo_id = :repo_id AND issue = :issue AND digest = :digest AND status = 'done'
              ORDER BY CASE WHEN ended_at <= :answered THEN 0 ELSE 1 END,
                       CASE WHEN ended_at <= :answered THEN ended_at END DESC,
                       ended_at
              LIMIT 1) AS r ON 1 = 1
 WHERE 1 = 1
    ON CONFLICT (repo_id, issue, label) DO UPDATE
   SET outcome = excluded.outcome, noted_at = excluded.noted_at;

-- name: outcomes_of_issue
SELECT * FROM outcomes WHERE repo_id = :repo_id AND issue = :issue ORDER BY noted_at, label;

-- name: scores
-- `repo_id` 0 means every repository.
SELECT label, prompt, model, outcome, count(*) AS labels, min(set_at) AS since FROM outcomes
 WHERE (:repo_id = 0 OR repo_id = :repo_id)
 GROUP BY label, prompt, model, outcome;
