SELECT table_name, scope FROM "tidegate"."scopes";
