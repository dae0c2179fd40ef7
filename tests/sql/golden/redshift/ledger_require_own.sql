SELECT owner, version FROM "tidegate"."target";
SELECT CURRENT_NAMESPACE || '/' || CURRENT_DATABASE();
