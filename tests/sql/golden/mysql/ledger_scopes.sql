SELECT table_name, scope FROM `none`.`tidegate_scopes`;
