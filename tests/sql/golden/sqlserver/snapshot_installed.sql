SELECT version FROM [odd schema].[snap's] WHERE component = N'it''s' ORDER BY version DESC;
