GRANT SELECT, VIEW DEFINITION ON OBJECT::[sales]."odd ""orders"" `of` [x] {y} 100%" TO [the_login];
