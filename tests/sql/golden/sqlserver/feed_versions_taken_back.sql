DELETE FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [start] > CONVERT(datetime2(6), N'2024-01-31 10:00:00.000001', 121);
UPDATE [sales]."odd ""orders"" `of` [x] {y} 100%" SET [end] = NULL, [is current] = CONVERT(bit, N'1') WHERE [end] > CONVERT(datetime2(6), N'2024-01-31 10:00:00.000001', 121);
