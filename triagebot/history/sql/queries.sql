-- name: forget_words
DELETE FROM words WHERE rowid IN (SELECT id FROM issues WHERE repo_id = :repo_id AND number = :number);

-- name: forget_issue
DELETE FROM issues WHERE repo_id = :repo_id AND number = :number;

-- name: add_issue
INSERT INTO issues (repo_id, number, created_at, labels, repo, title, body)
VALUES (:repo_id, :number, :created_at, :labels, :repo, :title, :body)
RETURNING id;

-- name: add_words
INSERT INTO words (rowid, title, body) VALUES (:id, :title, :body);

-- name: save_cursor
INSERT INTO cursors (repo_id, begun, since, after, read) VALUES (:repo_id, :begun, :since, :after, :read)
ON CONFLICT (repo_id) DO UPDATE
SET begun = excluded.begun, since = excluded.since, after = excluded.after, read = excluded.read;

-- name: cursor
SELECT begun, since, after, read FROM cursors WHERE repo_id = :repo_id;

-- name: past
-- Newest first; rows without a time come last, in the order of their numbers.
SELECT number, created_at, labels, repo, title, body FROM issues
WHERE repo_id = :repo_id
ORDER BY created_at IS NULL, created_at DESC, number DESC, id DESC
LIMIT :limit;

-- name: trim_words
DELETE FROM words WHERE rowid IN (
  SELECT id FROM issues WHERE repo_id = :repo_id
  ORDER BY created_at IS NULL, created_at DESC, number DESC, id DESC
  LIMIT -1 OFFSET :keep
);

-- name: trim_issues
DELETE FROM issues WHERE repo_id = :repo_id AND id NOT IN (SELECT rowid FROM words);

-- name: forget_repository_words
DELETE FROM words WHERE rowid IN (SELECT id FROM issues WHERE repo_id = :repo_id);

-- name: forget_repository_issues
DELETE FROM issues WHERE repo_id = :repo_id;

-- name: forget_cursor
DELETE FROM cursors WHERE repo_id = :repo_id;

-- name: how_common
-- Each word is looked up by itself: the vocabulary has an index of words.
SELECT term, doc FROM vocabulary WHERE term IN (SELECT value FROM json_each(:terms));

-- name: how_many
SELECT count(*) AS rows FROM issues;

-- name: rank
-- BM25 as SQLite has it: the better, the lower. A word in the title counts as two in the body.
-- An issue without a time may be newer than any, so `before` leaves it out.
SELECT issues.id, issues.labels
FROM words JOIN issues ON issues.id = words.rowid
WHERE words MATCH :query
  AND issues.repo_id = :repo_id
  AND (:exclude IS NULL OR issues.number IS NOT :exclude)
  AND (:before IS NULL OR issues.created_at < :before)
ORDER BY bm25(words, 2.0, 1.0), issues.number DESC, issues.id;

-- name: issue
SELECT number, created_at, labels, repo, title, body FROM issues WHERE id = :id;

-- name: add_measure
INSERT INTO measures (at, model, prompt, n, without, with_examples, gain_low)
VALUES (:at, :model, :prompt, :n, :without, :with_examples, :gain_low);

-- name: measures
SELECT at, model, prompt, n, without, with_examples, gain_low FROM measures
WHERE model = :model AND (:prompt IS NULL OR prompt = :prompt)
ORDER BY id;
