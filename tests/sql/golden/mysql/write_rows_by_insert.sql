SELECT @@local_infile;
INSERT INTO `sales`.`odd "orders" ``of`` [x] {y} 100%` (`cobid`, `it's a "note"`, `b`, `bits`, `shape`, `y`) VALUES (7,'say "hi", it''s
\.
',X'00ff',b'00000101',X'00000000010100000000000000000000000000000000000000','0000'),(8,NULL,X'',NULL,NULL,NULL);
