SELECT run FROM `none`.`tidegate_runs` ORDER BY at DESC;
DELETE FROM `none`.`tidegate_runs` WHERE run = 'r-1';
