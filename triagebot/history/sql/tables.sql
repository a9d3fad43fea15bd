-- The whole schema. It has no migrations: a file of another version is thrown away and built anew.

-- One row for each issue that people labelled. `labels` is a JSON list under the names of that time;
-- times are seconds since the epoch. `body` comes last, so that its pages are read only when it is wanted.
CREATE TABLE issues (
  id INTEGER PRIMARY KEY,
  repo_id INTEGER NOT NULL,
  number INTEGER,
  created_at REAL,
  labels TEXT NOT NULL,
  repo TEXT NOT NULL,
  title TEXT NOT NULL,
  body TEXT NOT NULL,
  UNIQUE (repo_id, number)
);

-- The words of the same rows, as `matching.words` finds them. Diacritics and case are folded there, and
-- text without blanks between its words is cut into pairs, which no tokenizer of SQLite's does.
CREATE VIRTUAL TABLE words USING fts5 (title, body, tokenize = "unicode61 remove_diacritics 0");

-- In how many rows a word occurs.
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, 'row');

-- How far each repository has been read.
CREATE TABLE cursors (
  repo_id INTEGER PRIMARY KEY,
  begun REAL NOT NULL,
  since REAL,
  after TEXT,
  read INTEGER NOT NULL
);

-- What examples were worth when somebody measured it.
CREATE TABLE measures (
  id INTEGER PRIMARY KEY,
  at REAL NOT NULL,
  model TEXT NOT NULL,
  prompt TEXT NOT NULL,
  n INTEGER NOT NULL,
  without REAL NOT NULL,
  with_examples REAL NOT NULL,
  gain_low REAL
);
