SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121);
SELECT record_id FROM [tidegate].[late_arriving_data] WHERE [record_id] = N'1f';
INSERT INTO [tidegate].[late_arriving_data] ([record_id], [pipeline_id], [source_id], [watermark_column], [watermark_value], [reason], [record], [record_key], [record_hash], [found_at]) VALUES (N'1f', N'tidegate', N'sales.orders', N'changed_at', N'2024-01-15 12:00:00', N'changed_at lies below the watermark 2024-01-15 12:00:00', N'{"id": 7, "item": "it''s late"}', N'[7]', N'a0', N'now+00:00');
SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121);
SELECT record_id FROM [tidegate].[duplicate_records] WHERE [record_id] = N'1f';
INSERT INTO [tidegate].[duplicate_records] ([record_id], [pipeline_id], [source_id], [key_columns], [rule], [record], [found_at]) VALUES (N'1f', N'tidegate', N'sales.orders', N'id', N'the row with the greatest changed_at was chosen', N'{"id": 7, "item": "it''s late"}', N'now+00:00');
SELECT record_hash FROM [tidegate].[late_arriving_data] WHERE pipeline_id = N'tidegate' AND source_id = N'sales.orders' AND record_hash IS NOT NULL;
