GRANT VIEW DEFINITION TO [the_login];
GRANT UNMASK TO [the_login];
GRANT VIEW DEFINITION TO [the_login];
IF SERVERPROPERTY('EngineEdition') = 5 EXEC sys.sp_executesql N'GRANT VIEW DATABASE STATE TO [the_login]'
ELSE IF CONVERT(int, SERVERPROPERTY('ProductMajorVersion')) >= 16 EXEC master.sys.sp_executesql N'GRANT VIEW SERVER PERFORMANCE STATE TO [the_login]'
ELSE EXEC master.sys.sp_executesql N'GRANT VIEW SERVER STATE TO [the_login]';
