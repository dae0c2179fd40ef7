SELECT report FROM `none`.`tidegate_runs` ORDER BY at DESC LIMIT 20;
