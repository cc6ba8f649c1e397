-- The shop of tests/databases/test_postgresql.py.
CREATE TYPE state AS ENUM ('captured', 'failed');
CREATE TABLE payments (
  payment_id uuid, order_id text, amount numeric(18,4), currency char(3), status state, created_at timestamptz,
  payload jsonb, memo text
);
INSERT INTO payments
SELECT md5(i::text)::uuid, 'ORD-' || i, i * 1.0001, 'EUR',
       CASE WHEN i % 10 = 0 THEN 'failed' ELSE 'captured' END::state,
       timestamptz '2026-11-01 00:00:00.123456+00' + i * interval '1 second',
       jsonb_build_object('n', i), CASE WHEN i % 2 = 0 THEN 'even' END
FROM generate_series(1, 100000) AS i;

CREATE TABLE exact (order_id text, amount numeric, currency text, created_at timestamptz);
INSERT INTO exact VALUES
  ('A1', 12345678901234.5678, 'KRW', '2026-11-01 09:00+09'),
  ('A2', -0.0001, 'EUR', '2026-11-01 01:30:00.000001+01'),
  ('A3', 0.1, 'EUR', '2026-03-29 02:30+02'),
  ('A4', 1.234, 'EUR', '2026-11-01Z'),
  ('A5', 1.00001, 'EUR', '2026-11-01Z'),
  ('A6', 'NaN', 'EUR', '2026-11-01Z');

CREATE TABLE never (order_id text, amount int, created_at timestamptz);
INSERT INTO never
SELECT 'X' || i, i, CASE i WHEN 7 THEN 'infinity' WHEN 8 THEN '0044-03-15 BC'
                    ELSE timestamptz '2026-11-01 10:00:00+00' END
FROM generate_series(1, 40) AS i;

CREATE TABLE naive (order_id text, amount numeric(18,2), created_at timestamp, day date);
INSERT INTO naive VALUES
  ('N1', 1.50, '2026-11-01 09:00', '2026-11-01'),
  ('N2', 2, '2026-10-31 23:59:59.9', NULL);

CREATE SCHEMA "odd one";
CREATE TABLE "odd one"."we""ird; table" (
  order_id text, amount numeric(9,2), created_at timestamptz, "a""b; DROP TABLE payments; --" text, "%s" text, "한글" text
);
INSERT INTO "odd one"."we""ird; table" VALUES
  ('O"1', 5, '2026-11-01Z', E'two\nlines, "quoted"', '=1+1', ''),
  ('O''2', 6, '2026-11-01Z', E'\\N', NULL, '결제');

CREATE TABLE epochs (order_id text, amount numeric(9,2), created_at bigint);
INSERT INTO epochs VALUES ('E1', 1, 1793491200000), ('E2', 2, 1793577600000);

CREATE TABLE empty (order_id text, amount numeric, created_at timestamptz);
CREATE TABLE secret (order_id text, amount numeric, created_at timestamptz);
INSERT INTO secret VALUES ('S1', 1, now());
CREATE TABLE writable (n int);
CREATE FUNCTION sneak() RETURNS int LANGUAGE plpgsql SECURITY DEFINER
AS $$ BEGIN INSERT INTO writable VALUES (1); RETURN 1; END $$;

GRANT USAGE ON SCHEMA "odd one" TO reader;
GRANT SELECT ON ALL TABLES IN SCHEMA "odd one" TO reader;
GRANT SELECT ON payments, exact, never, naive, epochs, empty, writable TO reader;
GRANT INSERT ON writable TO reader;
