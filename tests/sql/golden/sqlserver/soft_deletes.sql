SELECT COUNT_BIG(*) FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE NOT ([is gone] IS NOT NULL AND [is gone] = CONVERT(bit, N'1'));
SELECT CASE WHEN EXISTS (SELECT 1 FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [is gone] IS NOT NULL AND [is gone] = CONVERT(bit, N'1')) THEN 1 ELSE 0 END;
