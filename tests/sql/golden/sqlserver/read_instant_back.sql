SELECT CONVERT(datetime2(6), SWITCHOFFSET([at], 0)) FROM [sales]."odd ""orders"" `of` [x] {y} 100%";
