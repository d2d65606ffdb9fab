/**
 * The ledger's invariants as SQL that returns one row, with one sentence, per breach. Every figure is recomputed from the
 * entries and the holds; nothing that is kept as a running sum is believed. The same text runs on SQLite and on PostgreSQL.
 */
export const INVARIANTS: readonly string[] = [
  // I1: the balance is what was granted less what was charged.
  `SELECT 'I1: balance of ' || b.account_id || ' (' || b.mode || ') is ' || b.balance || ' millionths, its entries sum to '
     || COALESCE(SUM(e.amount), 0)
   FROM balances b LEFT JOIN entries e ON e.account_id = b.account_id AND e.mode = b.mode
   GROUP BY b.account_id, b.mode, b.balance HAVING b.balance <> COALESCE(SUM(e.amount), 0)`,
  `SELECT 'I1: entry ' || e.id || ' belongs to ' || e.account_id || ' (' || e.mode || '), which has no balance'
   FROM entries e LEFT JOIN balances b ON b.account_id = e.account_id AND b.mode = e.mode WHERE b.account_id IS NULL`,
  `SELECT 'I1: entry ' || id || ' says the balance after it is ' || balance_after || ', the entries up to it sum to ' || total
   FROM (SELECT id, balance_after, SUM(amount) OVER (PARTITION BY account_id, mode ORDER BY id) AS total FROM entries) AS sums
   WHERE balance_after <> total`,
  // I2: what is held is covered, and is the sum of the pending holds.
  `SELECT 'I2: ' || account_id || ' (' || mode || ') holds ' || held || ' of a balance of ' || balance
   FROM balances WHERE held < 0 OR held > balance`,
  `SELECT 'I2: ' || b.account_id || ' (' || b.mode || ') has ' || b.held || ' held, its pending holds sum to '
     || COALESCE(SUM(h.amount), 0)
   FROM balances b LEFT JOIN holds h ON h.account_id = b.account_id AND h.mode = b.mode AND h.state = 'pending'
   GROUP BY b.account_id, b.mode, b.held HAVING b.held <> COALESCE(SUM(h.amount), 0)`,
  // I3: each hold resolves once, and never for more than was held.
  `SELECT 'I3: hold ' || id || ' reserved ' || amount || ' and was posted with ' || posted
   FROM holds WHERE posted IS NOT NULL AND (posted > amount OR posted < 0)`,
  `SELECT 'I3: hold ' || id || ' is ' || state || ' but ' ||
     CASE WHEN resolved_at IS NULL THEN 'has no time of resolution' ELSE 'was resolved' END
   FROM holds WHERE (state = 'pending') <> (resolved_at IS NULL)`,
  `SELECT 'I3: hold ' || id || ' is ' || state || ' but ' || CASE WHEN posted IS NULL THEN 'has no' ELSE 'has a' END || ' charge'
   FROM holds WHERE (state = 'posted') <> (posted IS NOT NULL)`,
  `SELECT 'I3: hold ' || h.id || ' was posted with ' || h.posted || ', its entries charge ' || COALESCE(-SUM(e.amount), 0)
     || ' in ' || COUNT(e.id)
   FROM holds h LEFT JOIN entries e ON e.hold_id = h.id AND e.kind = 'charge' AND e.account_id = h.account_id AND e.mode = h.mode
   WHERE h.state = 'posted' GROUP BY h.id, h.posted
   HAVING h.posted <> COALESCE(-SUM(e.amount), 0) OR COUNT(e.id) > 1 OR (h.posted > 0 AND COUNT(e.id) <> 1)`,
  `SELECT 'I3: entry ' || e.id || ' is a charge without a posted hold'
   FROM entries e LEFT JOIN holds h ON h.id = e.hold_id AND h.state = 'posted' WHERE e.kind = 'charge' AND h.id IS NULL`,
  // I7: a record and its hold tell the same story.
  `SELECT 'I7: a stored reply of ' || i.account_id || ' belongs to hold ' || i.hold_id || ', which is '
     || COALESCE(h.state, 'missing')
   FROM idempotency i LEFT JOIN holds h ON h.id = i.hold_id
   WHERE i.state = 'stored' AND (h.state IS NULL OR h.state <> 'posted')`,
  `SELECT 'I7: a call in flight of ' || i.account_id || ' belongs to hold ' || i.hold_id || ', which is '
     || COALESCE(h.state, 'missing')
   FROM idempotency i LEFT JOIN holds h ON h.id = i.hold_id
   WHERE i.state = 'in_flight' AND (h.state IS NULL OR h.state <> 'pending')`,
  `SELECT 'I7: pending hold ' || h.id || ' carries an idempotency key that has no record'
   FROM holds h LEFT JOIN idempotency i ON i.hold_id = h.id
   WHERE h.state = 'pending' AND h.idempotency_key IS NOT NULL AND i.hold_id IS NULL`,
  // The spend per day is a sum of charges.
  `SELECT 'usage: ' || u.account_id || ' (' || u.mode || ') has ' || u.charged || ' charged on ' || u.day
     || ', its entries say ' || COALESCE(-SUM(e.amount), 0)
   FROM usage_days u LEFT JOIN entries e
     ON e.account_id = u.account_id AND e.mode = u.mode AND e.day = u.day AND e.kind = 'charge'
   GROUP BY u.account_id, u.mode, u.day, u.charged HAVING u.charged <> COALESCE(-SUM(e.amount), 0)`,
  `SELECT DISTINCT 'usage: charges of ' || e.account_id || ' (' || e.mode || ') on ' || e.day || ' are in no daily sum'
   FROM entries e LEFT JOIN usage_days u ON u.account_id = e.account_id AND u.mode = e.mode AND u.day = e.day
   WHERE e.kind = 'charge' AND u.account_id IS NULL`,
];
