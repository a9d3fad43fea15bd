-- What `status` asks, answered from indexes: days and sums of a million runs without reading the runs.
CREATE INDEX runs_by_day ON runs (day, repo_id, requests, tokens_in, tokens_out, status, outcome);
CREATE INDEX runs_failed ON runs (repo_id, issue) WHERE status IN ('failed', 'dead');
CREATE INDEX outcomes_by_score ON outcomes (label, prompt, model, outcome, set_at, repo_id);

-- The primary key begins with the same columns, and an issue has few runs: one index less to write at every claim.
DROP INDEX runs_by_digest;
