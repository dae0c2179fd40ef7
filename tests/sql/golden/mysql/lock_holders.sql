SELECT table_name, run, holder, since FROM `none`.`tidegate_locks`;
