SELECT CONVERT(nvarchar(50), min([changed at]), 121) FROM [sales]."odd ""orders"" `of` [x] {y} 100%";
