UPDATE STATISTICS [sales].[odd "orders"_STAGE_1];
