COPY (SELECT "cobid", "it's a ""note""" FROM "sales"."odd ""orders"" {x} 100%") TO STDOUT (FORMAT csv);
