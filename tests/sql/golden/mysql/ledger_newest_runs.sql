SELECT run FROM `none`.`tidegate_runs` ORDER BY at DESC LIMIT 50;
