ALTER INDEX ALL ON [sales].[odd "orders"_STAGE_1] REBUILD;
