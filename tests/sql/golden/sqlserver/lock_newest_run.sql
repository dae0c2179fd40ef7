SELECT run FROM [tidegate].[locks] WHERE table_name = N'it''s';
