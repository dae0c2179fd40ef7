SELECT cob, '{}' FROM closed_days;
