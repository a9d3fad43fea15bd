-- Deliver. A row is claimed (`sending` is on disk) before any request; every later write names owner and attempt.

-- name: due_rows
-- What could be sent now, the issue that nothing has happened to for longest first; `issue` 0 means any.
-- `ready`: its time has come, this night has not left it alone, and no other text of the issue is in flight
-- for the same action. A comment waits until the labels row of its text has ended, or goes with it.
WITH ready AS (
    SELECT id, issue, action, digest, updated_at
      FROM outbox AS r
     WHERE r.repo_id = :repo_id
       AND (:issue = 0 OR r.issue = :issue)
       AND r.status IN ('pending', 'unknown')
       AND r.not_before <= {now}
       AND r.rested_night < :night
       AND NOT EXISTS (SELECT 1 FROM outbox AS o
                        WHERE o.repo_id = r.repo_id AND o.issue = r.issue AND o.action = r.action
                          AND o.id <> r.id AND o.status IN ('sending', 'unknown'))
)
SELECT id, issue
  FROM ready AS r
 WHERE r.action = 'labels'
    OR NOT EXISTS (SELECT 1 FROM outbox AS l
                    WHERE l.repo_id = :repo_id AND l.issue = r.issue AND l.digest = r.digest
                      AND l.action = 'labels' AND l.status IN ('pending', 'sending', 'unknown')
                      AND l.id NOT IN (SELECT id FROM ready))
 ORDER BY updated_at, id
 LIMIT :most;

-- name: claim_row
UPDATE outbox
   SET was = status,
       status = 'sending',
       owner = :owner,
       attempt = attempt + 1,
       night = :night,
       lease_until = {now} + :lease,
       updated_at = {utc}
 WHERE id IN (SELECT id FROM outbox WHERE id = :id AND status IN ('pending', 'unknown') {skip_locked})
RETURNING *;

-- name: next_due
-- Only rows that no other row stands before: a row that waits for another is never due before it.
SELECT min(CASE WHEN status = 'sending' THEN lease_until + :settle ELSE not_before END) - {now} AS seconds
  FROM outbox AS r
 WHERE r.repo_id = :repo_id
   AND (r.status = 'sending' OR r.status IN ('pending', 'unknown') AND r.rested_night < :night)
   AND NOT EXISTS (SELECT 1 FROM outbox AS o
                    WHERE o.repo_id = r.repo_id AND o.issue = r.issue
                      AND (o.action = r.action AND o.id <> r.id AND o.status IN ('sending', 'unknown')
                        OR r.action = 'comment' AND o.action = 'labels' AND o.digest = r.digest
                           AND o.status IN ('pending', 'sending', 'unknown')));

-- name: lapse_sendings
-- A crash: maybe delivered. It counts as a night without proof; but since it may have come before the
-- request, the third such night still gets a last look, and only the next crash buries the row.
UPDATE outbox
   SET status = CASE WHEN unproven >= :max_unproven THEN 'dead' ELSE 'unknown' END,
       reason = CASE WHEN unproven >= :max_unproven THEN :max_unproven || ' nights without proof: crashed'
                     ELSE 'crashed' END,
       unproven = unproven + CASE WHEN unproven_night <> night THEN 1 ELSE 0 END,
       unproven_night = night,
       not_before = lease_until + :settle,
       lease_until = NULL,
       updated_at = {utc}
 WHERE id IN (SELECT id FROM outbox
               WHERE repo_id = :repo_id AND status = 'sending' AND lease_until <= {now} {skip_locked})
RETURNING *;

-- name: renew
-- A lease that is over is not renewed: another worker may have taken the row.
UPDATE outbox
   SET lease_until = {now} + :lease
 WHERE id = :id AND owner = :owner AND attempt = :attempt AND status = 'sending' AND lease_until > {now}
RETURNING *;

-- name: sent
UPDATE outbox
   SET status = 'sent',
       remote_id = coalesce(:remote_id, remote_id),
       remote_node = coalesce(:remote_node, remote_node),
       revise = 0,
       unproven = 0,
       reason = NULL,
       lease_until = NULL,
       updated_at = {utc}
 WHERE id = :id AND owner = :owner AND attempt = :attempt AND status = 'sending'
RETURNING *;

-- name: postpone
-- Surely not written: as it was before the claim (an `unknown` row's earlier write may still be out there).
-- Where a newer text has come to wait meanwhile, one that was `pending` is superseded.
UPDATE outbox
   SET (status, reason) = (
           SELECT CASE WHEN count(*) > 0 THEN 'withdrawn' ELSE outbox.was END,
                  CASE WHEN count(*) > 0 THEN 'superseded' ELSE :reason END
             FROM outbox AS n
            WHERE n.repo_id = outbox.repo_id AND n.issue = outbox.issue AND n.action = outbox.action
              AND n.status = 'pending' AND outbox.was = 'pending'),
       not_before = {now} + :seconds,
       lease_until = NULL,
       updated_at = {utc}
 WHERE id = :id AND owner = :owner AND attempt = :attempt AND status = 'sending'
RETURNING *;

-- name: unclear
-- Maybe delivered. A night counts once, however often it looks.
UPDATE outbox
   SET status = CASE WHEN unproven + CASE WHEN unproven_night <> night THEN 1 ELSE 0 END >= :max_unproven
                     THEN 'dead' ELSE 'unknown' END,
       reason = CASE WHEN unproven + CASE WHEN unproven_night <> night THEN 1 ELSE 0 END >= :max_unproven
                     THEN :max_unproven || ' nights without proof: ' ELSE '' END || :reason,
       unproven = unproven + CASE WHEN unproven_night <> night THEN 1 ELSE 0 END,
       unproven_night = night,
       not_before = {now} + :settle,
       lease_until = NULL,
       updated_at = {utc}
 WHERE id = :id AND owner = :owner AND attempt = :attempt AND status = 'sending'
RETURNING *;

-- name: rest
-- For this night and every one that began before it: of two that overlap, each would hand it to the other for ever.
UPDATE outbox
   SET status = 'unknown', reason = :reason, rested_night = {max}(rested_night, :night), lease_until = NULL, updated_at = {utc}
 WHERE id = :id AND owner = :owner AND attempt = :attempt AND status = 'sending'
RETURNING *;

-- name: end_row
-- Withdrawn or dead.
UPDATE outbox
   SET status = :status, reason = :reason, lease_until = NULL, updated_at = {utc}
 WHERE id = :id AND owner = :owner AND attempt = :attempt AND status = 'sending'
RETURNING *;

-- name: supersede
-- Rows of this action that still wait with another text than `digest` ('' means: with any).
UPDATE outbox
   SET status = 'withdrawn', reason = 'superseded', updated_at = {utc}
 WHERE repo_id = :repo_id AND issue = :issue AND action = :action AND status = 'pending' AND digest <> :digest
RETURNING *;

-- name: plan
-- A new verdict for the same text takes the place of the old one: a row that waits gets the new words, one
-- that ended is opened again to revise what stands, one with an unknown end keeps its state (the look
-- decides) and learns the new words. One in flight or given up is left alone.
INSERT INTO outbox (repo_id, issue, action, digest, key, day, status, payload, created_at, updated_at)
VALUES (:repo_id, :issue, :action, :digest, :key, :day, 'pending', :payload, {utc}, {utc})
    ON CONFLICT (repo_id, issue, action, digest) DO UPDATE
   SET payload = excluded.payload,
       key = excluded.key,
       day = excluded.day,
       status = CASE WHEN outbox.status = 'unknown' THEN 'unknown' ELSE 'pending' END,
       revise = CASE WHEN outbox.status = 'pending' THEN outbox.revise ELSE 1 END,
       not_before = CASE WHEN outbox.status IN ('sent', 'withdrawn') THEN 0 ELSE outbox.not_before END,
       unproven = CASE WHEN outbox.status IN ('sent', 'withdrawn') THEN 0 ELSE outbox.unproven END,
       rested_night = CASE WHEN outbox.status IN ('sent', 'withdrawn') THEN 0 ELSE outbox.rested_night END,
       reason = CASE WHEN outbox.status = 'unknown' THEN outbox.reason END,
       updated_at = excluded.updated_at
 WHERE outbox.status IN ('pending', 'unknown', 'sent', 'withdrawn')
RETURNING *;

-- name: unplan
-- A new verdict for the same text asks for nothing here, but a write with the old words may be out there.
UPDATE outbox
   SET payload = '[]', revise = 1, updated_at = {utc}
 WHERE repo_id = :repo_id AND issue = :issue AND action = :action AND digest = :digest AND status = 'unknown'
RETURNING *;

-- name: reopen
-- Never an unknown, sending or dead row.
INSERT INTO outbox (repo_id, issue, action, digest, key, day, status, payload, revise, created_at, updated_at)
VALUES (:repo_id, :issue, :action, :digest, :key, :day, 'pending', :payload, :revise, {utc}, {utc})
    ON CONFLICT (repo_id, issue, action, digest) DO UPDATE
   SET status = 'pending',
       payload = excluded.payload,
       key = excluded.key,
       day = excluded.day,
       revise = excluded.revise,
       not_before = 0,
       unproven = 0,
       rested_night = 0,
       reason = NULL,
       updated_at = excluded.updated_at
 WHERE outbox.status IN ('sent', 'withdrawn')
RETURNING *;

-- name: record_standing
-- Our own comment was found: the row of its text is sent, whoever sent it. In flight: the look will tell.
INSERT INTO outbox (repo_id, issue, action, digest, key, day, status, payload, remote_id, remote_node,
                    created_at, updated_at)
VALUES (:repo_id, :issue, 'comment', :digest, :key, :day, 'sent', '[]', :remote_id, :remote_node, {utc}, {utc})
    ON CONFLICT (repo_id, issue, action, digest) DO UPDATE
   SET status = 'sent',
       remote_id = excluded.remote_id,
       remote_node = excluded.remote_node,
       revise = 0,
       reason = NULL,
       updated_at = excluded.updated_at
 WHERE outbox.status IN ('pending', 'sent', 'withdrawn')
RETURNING *;

-- name: keep_comment
-- Of several comments of ours one stays: whatever row had recorded another one has this one now.
UPDATE outbox
   SET remote_id = :remote_id, remote_node = :remote_node
 WHERE repo_id = :repo_id AND issue = :issue AND action = 'comment' AND remote_id <> :remote_id
RETURNING *;

-- name: waiting
SELECT status, count(*) AS writes FROM outbox
 WHERE repo_id = :repo_id AND status IN ('pending', 'unknown')
 GROUP BY status;

-- name: status_of
SELECT status FROM outbox
 WHERE repo_id = :repo_id AND issue = :issue AND action = :action AND digest = :digest;

-- name: rows_of_issue
SELECT * FROM outbox WHERE repo_id = :repo_id AND issue = :issue ORDER BY id;

-- name: retry_outbox
-- Given-up writes get a new look, which decides: they were sent at least once. Only the newest of an
-- issue and action, and only where nothing else is in flight. 0 means every repository, every issue.
UPDATE outbox
   SET status = 'unknown', not_before = {now}, unproven = 0, rested_night = 0, updated_at = {utc}
 WHERE (:repo_id = 0 OR repo_id = :repo_id) AND (:issue = 0 OR issue = :issue)
   AND status = 'dead'
   AND NOT EXISTS (SELECT 1 FROM outbox AS o
                    WHERE o.repo_id = outbox.repo_id AND o.issue = outbox.issue AND o.action = outbox.action
                      AND (o.status IN ('sending', 'unknown') OR o.status = 'dead' AND o.id > outbox.id))
RETURNING *;

-- name: issues_tried_in_night
-- What a night took in hand to write, from the journal: the rows themselves move on to later nights.
SELECT DISTINCT issue FROM events
 WHERE repo_id = :repo_id AND night = :night AND what = 'sending'
 ORDER BY issue;

-- name: tried_on_issue
SELECT action, key FROM events
 WHERE repo_id = :repo_id AND issue = :issue AND night = :night AND what = 'sending';

-- name: claim_ended
-- To take back what may have been written. `was` is the status to which `put_back` leads.
UPDATE outbox
   SET was = status,
       status = 'sending',
       owner = :owner,
       attempt = attempt + 1,
       lease_until = {now} + :lease,
       updated_at = {utc}
 WHERE id = :id AND status IN ('sent', 'withdrawn', 'dead')
RETURNING *;

-- name: lapse_takebacks
-- A crash of an undo. Whatever it did can be done again, so the row is what it was, and no night has to look first.
UPDATE outbox
   SET status = was, lease_until = NULL, updated_at = {utc}
 WHERE repo_id = :repo_id AND issue = :issue AND status = 'sending' AND lease_until <= {now}
   AND was IN ('sent', 'withdrawn', 'dead')
RETURNING *;

-- name: put_back
UPDATE outbox
   SET status = was, lease_until = NULL, updated_at = {utc}
 WHERE id = :id AND owner = :owner AND attempt = :attempt AND status = 'sending'
RETURNING *;
