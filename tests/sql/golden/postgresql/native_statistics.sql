ANALYZE "sales"."odd ""orders""_STAGE_1";
