SELECT CONVERT(nvarchar(50), CONVERT(datetime, GETDATE()), 121);
