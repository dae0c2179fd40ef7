SELECT table_name, run, holder, since FROM "tidegate"."locks";
