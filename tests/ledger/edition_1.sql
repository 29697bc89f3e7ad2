BEGIN TRANSACTION;
CREATE TABLE shoal_ledger_editions (
	edition INTEGER NOT NULL,
	at TEXT NOT NULL,
	PRIMARY KEY (edition)
);
INSERT INTO "shoal_ledger_editions" VALUES(1,'2026-11-16T11:49:36+00:00');
CREATE TABLE shoal_ledger_entries (
	number INTEGER NOT NULL,
	previous TEXT NOT NULL,
	hash TEXT NOT NULL,
	signer TEXT NOT NULL,
	signature TEXT NOT NULL,
	sealed_sha256 TEXT NOT NULL,
	kind TEXT NOT NULL,
	body TEXT NOT NULL,
	PRIMARY KEY (number)
);
INSERT INTO "shoal_ledger_entries" VALUES(1,'0000000000000000000000000000000000000000000000000000000000000000','3785c39308ab1dc0663e425a0896504ea398a9915e39c3bc90fcc4e63e20bb72','03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8','1c3d57ad553dffadfb8ded367f1d7b44f6f54e38aba268310711f016d74e93c5bd502a518d455e7911461dc3b5cd958994ce0f242825a1f3f553be292797c803','','founding','{"at":"2026-11-16T11:49:36.677+00:00","by":"City hospital","epsilon":1.0,"kind":"founding","ledger":"886a457b41332018021326182884be74","public":"03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8","sealing":"62b7fb7ad077747ca85ec32fe417ddc8d6ea403bfaacafe5bd8e3d818d318bc6"}');
INSERT INTO "shoal_ledger_entries" VALUES(2,'3785c39308ab1dc0663e425a0896504ea398a9915e39c3bc90fcc4e63e20bb72','eb4b60297b32561896888f7c0f2c9ab3365ae285a6da5e38e04158b9373e2edb','03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8','aaf090402a3310d43a31056c4a37258bebc483f4239f4b0cf81e9d21b61ed2c0cda2d9bd51d33711d973a771385117d9ba6936e95cd6088b129ad804c7f5f405','647a6ea6779b724f074871bc8a0e0b60c71175619dde04c9aba36b47f65af394','release','{"at":"2026-11-16T11:49:36.697+00:00","by":"City hospital","kind":"release","name":"Jahr 2024 · ü","rows":120}');
INSERT INTO "shoal_ledger_entries" VALUES(3,'eb4b60297b32561896888f7c0f2c9ab3365ae285a6da5e38e04158b9373e2edb','cd7674ceefbdb2113c1d90662c20687e89a03b8dc42a272ec1523639cf83a990','03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8','469832d6b69b376654c2dd9e9f169bf0ada40ad99effa83c8b5ba95b09ccb78ff1aba039905b24b2b29699809f50d54c503f500af09edb16dfa5493f8592a604','','publisher','{"at":"2026-11-16T11:49:36.699+00:00","by":"City hospital","kind":"publisher","name":"Lake hospital","public":"2543b92ff1095511476adc8369db6ddc933665a11978dda1404ee1066ca9559d"}');
INSERT INTO "shoal_ledger_entries" VALUES(4,'cd7674ceefbdb2113c1d90662c20687e89a03b8dc42a272ec1523639cf83a990','4b643e0bcf661652f5429564ca55912a3ded98f3e8786c259b6da2411d506d61','03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8','06b91953cff5778a712c99987fe6f18cf4783cd7d6a747bd008345126cfe98560a9761371efb0c355b51c63734d8de01f9b0ed78c7aceb85bacf0a8119ec830b','','withdrawn','{"at":"2026-11-16T11:49:36.701+00:00","by":"City hospital","kind":"withdrawn","number":2,"reason":"wrong file"}');
CREATE TABLE shoal_ledger_sealed (
	number INTEGER NOT NULL,
	content BLOB NOT NULL,
	PRIMARY KEY (number),
	FOREIGN KEY(number) REFERENCES shoal_ledger_entries (number)
);
INSERT INTO "shoal_ledger_sealed" VALUES(2,X'2C1A3B12E6FBDD17DBA4F5CA905483EA3B16D79095B488A1CFC1A5EB9741C8C93F52202C');
CREATE INDEX ix_shoal_ledger_entries_kind ON shoal_ledger_entries (kind);
CREATE TRIGGER shoal_ledger_editions_insert BEFORE INSERT ON shoal_ledger_editions WHEN NOT ((SELECT coalesce(max(edition), 0) + 1 FROM shoal_ledger_editions) = NEW.edition) BEGIN SELECT RAISE(ABORT, 'a ledger is only ever added to'); END;
CREATE TRIGGER shoal_ledger_editions_update BEFORE UPDATE ON shoal_ledger_editions  BEGIN SELECT RAISE(ABORT, 'a ledger is only ever added to'); END;
CREATE TRIGGER shoal_ledger_editions_delete BEFORE DELETE ON shoal_ledger_editions  BEGIN SELECT RAISE(ABORT, 'a ledger is only ever added to'); END;
CREATE TRIGGER shoal_ledger_entries_insert BEFORE INSERT ON shoal_ledger_entries WHEN NOT ((SELECT coalesce(max(number), 0) + 1 FROM shoal_ledger_entries) = NEW.number) BEGIN SELECT RAISE(ABORT, 'a ledger is only ever added to'); END;
CREATE TRIGGER shoal_ledger_entries_update BEFORE UPDATE ON shoal_ledger_entries  BEGIN SELECT RAISE(ABORT, 'a ledger is only ever added to'); END;
CREATE TRIGGER shoal_ledger_entries_delete BEFORE DELETE ON shoal_ledger_entries  BEGIN SELECT RAISE(ABORT, 'a ledger is only ever added to'); END;
CREATE TRIGGER shoal_ledger_sealed_insert BEFORE INSERT ON shoal_ledger_sealed WHEN NOT ((SELECT coalesce(max(number), 0) FROM shoal_ledger_entries) = NEW.number AND NOT EXISTS (SELECT 1 FROM shoal_ledger_sealed WHERE number = NEW.number)) BEGIN SELECT RAISE(ABORT, 'a ledger is only ever added to'); END;
CREATE TRIGGER shoal_ledger_sealed_update BEFORE UPDATE ON shoal_ledger_sealed  BEGIN SELECT RAISE(ABORT, 'a ledger is only ever added to'); END;
CREATE TRIGGER shoal_ledger_sealed_delete BEFORE DELETE ON shoal_ledger_sealed  BEGIN SELECT RAISE(ABORT, 'a ledger is only ever added to'); END;
COMMIT;
