-- The shop of tests/databases/test_mysql.py; one statement a line.
CREATE TABLE payments (payment_id BINARY(4), order_id VARCHAR(20), amount DECIMAL(18,4), currency CHAR(3), status ENUM('captured', 'failed'), created_at TIMESTAMP(6) NULL, payload JSON, memo TEXT, paid TINYINT(1), score DOUBLE) CHARACTER SET utf8mb4
INSERT INTO payments SELECT UNHEX(LPAD(HEX(seq), 8, '0')), CONCAT('ORD-', seq), seq * 1.0001, 'EUR', IF(seq % 10 = 0, 'failed', 'captured'), TIMESTAMPADD(SECOND, seq, '2026-11-01 00:00:00.123456'), JSON_OBJECT('n', seq), IF(seq % 2 = 0, '짝수 "even"', NULL), 1, 0.1 FROM seq_1_to_100000
CREATE TABLE exact (order_id VARCHAR(9), amount DECIMAL(30,6), currency CHAR(3), created_at DATETIME(6))
INSERT INTO exact VALUES ('A1', 12345678901234.5678, 'KRW', '2026-11-01 09:00:00'), ('A2', -0.0001, 'EUR', '2026-11-01 00:30:00.000001'), ('A3', 1.234, 'EUR', '2026-11-01'), ('A4', 1.00001, 'EUR', '2026-11-01')
SET SESSION sql_mode = ''
CREATE TABLE never (order_id VARCHAR(9), amount INT(5) ZEROFILL, created_at TIMESTAMP NULL)
INSERT INTO never SELECT CONCAT('X', seq), seq, IF(seq = 7, '0000-00-00 00:00:00', '2026-11-01 10:00:00') FROM seq_1_to_40
CREATE TABLE `we``ird; "table"` (order_id VARCHAR(9), amount DECIMAL(9,2), created_at DATETIME, `a``b; DROP TABLE payments; --` TEXT, `%s` TEXT, `한글` TEXT) CHARACTER SET utf8mb4
INSERT INTO `we``ird; "table"` VALUES ('O"1', 5, '2026-11-01', 'two\nlines, "quoted"\0nul', '=1+1', ''), ('O''2', 6, '2026-11-01', '\\N', NULL, '결제')
CREATE TABLE epochs (order_id VARCHAR(9), amount DECIMAL(9,2), created_at BIGINT)
INSERT INTO epochs VALUES ('E1', 1, 1793491200000), ('E2', 2, 1793577600000)
CREATE TABLE empty (order_id VARCHAR(9), amount INT, created_at DATETIME)
CREATE TABLE secret (order_id VARCHAR(9), amount INT, created_at DATETIME)
CREATE TABLE writable (n INT)
CREATE FUNCTION sneak() RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO writable VALUES (1); RETURN 1; END
GRANT SELECT ON shop.payments TO reader@'%'
GRANT SELECT ON shop.exact TO reader@'%'
GRANT SELECT ON shop.never TO reader@'%'
GRANT SELECT ON shop.`we``ird; "table"` TO reader@'%'
GRANT SELECT ON shop.epochs TO reader@'%'
GRANT SELECT ON shop.empty TO reader@'%'
GRANT SELECT, INSERT ON shop.writable TO reader@'%'
GRANT EXECUTE ON FUNCTION shop.sneak TO reader@'%'
