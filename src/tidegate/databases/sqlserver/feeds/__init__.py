"""The change feeds of SQL Server."""
