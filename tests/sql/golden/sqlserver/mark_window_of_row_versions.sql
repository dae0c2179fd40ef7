SELECT COUNT_BIG(*), CONVERT(nvarchar(20), CONVERT(bigint, max([rv]))) FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [rv] IS NOT NULL AND [rv] >= CONVERT(binary(8), CONVERT(bigint, N'2001'));
