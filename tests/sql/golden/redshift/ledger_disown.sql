DELETE FROM "tidegate"."ledger";
DELETE FROM "tidegate"."target";
DELETE FROM "tidegate"."locks";
SELECT CURRENT_NAMESPACE || '/' || CURRENT_DATABASE();
SELECT TO_CHAR(SYSDATE, 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"');
INSERT INTO "tidegate"."target" (owner, version, at) VALUES ('1/2', 2, 'now');
