-- When the next write may go out, by API host and account, shared by all workers.

-- name: pace_row
INSERT INTO pace (host, account) VALUES (:host, :account) ON CONFLICT (host, account) DO NOTHING;

-- name: reserve_slot
-- The generic cell rate algorithm (ITU-T I.371), with a spacing beside it. `tat` is the time at which the
-- next write would come if all came evenly, one every `interval`; a write may come up to `burst` before it.
-- Any window of w seconds then holds at most 1 + (burst + w) / interval writes.
--     slot = max(now, next_at, tat - burst);  next_at = slot + spacing;  tat = max(slot, tat) + interval
-- A stored slot more than `horizon` ahead was made by a clock that has since jumped back. It is reset to
-- now, with the burst spent: an hour's limit must hold although we cannot tell what the hour has seen.
UPDATE pace
   SET next_at = :spacing + CASE WHEN {max}(next_at, tat - :burst) > {now} + :horizon THEN {now}
                                 ELSE {max}({now}, next_at, tat - :burst) END,
       tat = :interval + CASE WHEN {max}(next_at, tat - :burst) > {now} + :horizon THEN {now} + :burst
                              ELSE {max}({now}, next_at, tat) END
 WHERE host = :host AND account = :account
RETURNING next_at - :spacing - {now} AS seconds;

-- name: gate
SELECT closed_until - {now} AS seconds FROM pace WHERE host = :host AND account = :account;

-- name: close_gate
-- Only ever later, and never more than `longest` ahead of now (a gate further off was made by a clock
-- that has since jumped back). Where the answer did not say how long: 60 s, doubled at every further
-- limit; one that is met while the gate is closed already is the same limit, met by another worker.
UPDATE pace
   SET strikes = strikes + CASE WHEN closed_until <= {now} AND CAST(:seconds AS DOUBLE PRECISION) IS NULL
                                  THEN 1 ELSE 0 END,
       closed_until = {min}({now} + :longest, {max}(closed_until, {now} + coalesce(:seconds,
           60 << CAST({min}(11, {max}(0, strikes - CASE WHEN closed_until <= {now} THEN 0 ELSE 1 END)) AS INTEGER))))
 WHERE host = :host AND account = :account
RETURNING closed_until - {now} AS seconds, strikes;

-- name: shorten_gate
UPDATE pace SET closed_until = {now} + :longest
 WHERE host = :host AND account = :account AND closed_until > {now} + :longest;

-- name: open_gate
UPDATE pace SET strikes = 0 WHERE host = :host AND account = :account AND strikes > 0;
