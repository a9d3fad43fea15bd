-- What a database with one writer at a time gives for nothing, and one with many has to be asked for: while an
-- issue is held, no other transaction that changes anything about this issue goes on. It ends with the transaction.

-- name: hold_issue
-- Waits for whoever holds it.
SELECT {hold} AS held;

-- name: try_to_hold_issue
-- 1 where nobody else held it, else 0: the courier goes on to the next issue.
SELECT {try_to_hold} AS held;
