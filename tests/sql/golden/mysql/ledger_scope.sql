SELECT scope FROM `none`.`tidegate_scopes` WHERE table_name = 'it''s';
