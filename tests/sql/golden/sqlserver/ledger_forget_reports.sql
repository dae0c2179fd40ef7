SELECT run FROM [tidegate].[runs] ORDER BY at DESC;
DELETE FROM [tidegate].[runs] WHERE run = N'r-1';
