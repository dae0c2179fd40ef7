SELECT scope FROM [tidegate].[scopes] WHERE table_name = N'it''s';
