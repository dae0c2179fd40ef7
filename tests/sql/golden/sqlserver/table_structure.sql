SELECT s.name, t.name, i.name, CONVERT(int, i.type), CONVERT(int, i.is_unique), i.filter_definition, c.name,
       CONVERT(int, ic.is_descending_key), CONVERT(int, ic.is_included_column)
FROM sys.indexes AS i
JOIN sys.tables AS t ON t.object_id = i.object_id JOIN sys.schemas AS s ON s.schema_id = t.schema_id
JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id
  AND (ic.key_ordinal > 0 OR ic.is_included_column = 1)
JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE i.is_primary_key = 0 AND i.is_disabled = 0 AND i.is_hypothetical = 0 AND i.name IS NOT NULL AND ((s.name = N'sales' AND t.name = N'odd "orders" `of` [x] {y} 100%') OR (s.name = N'sales' AND t.name = N'daily'))
ORDER BY s.name, t.name, i.name, ic.is_included_column, ic.key_ordinal, ic.index_column_id;
SELECT s.name, t.name, 'default', c.name, d.definition
FROM sys.default_constraints AS d
JOIN sys.tables AS t ON t.object_id = d.parent_object_id JOIN sys.schemas AS s ON s.schema_id = t.schema_id
JOIN sys.columns AS c ON c.object_id = d.parent_object_id AND c.column_id = d.parent_column_id
WHERE (s.name = N'sales' AND t.name = N'odd "orders" `of` [x] {y} 100%') OR (s.name = N'sales' AND t.name = N'daily')
UNION ALL
SELECT s.name, t.name, 'comment', COALESCE(c.name, N''), CONVERT(nvarchar(3750), p.value)
FROM sys.extended_properties AS p
JOIN sys.tables AS t ON t.object_id = p.major_id JOIN sys.schemas AS s ON s.schema_id = t.schema_id
LEFT JOIN sys.columns AS c ON c.object_id = p.major_id AND c.column_id = p.minor_id AND p.minor_id > 0
WHERE p.class = 1 AND p.name = 'MS_Description' AND ((s.name = N'sales' AND t.name = N'odd "orders" `of` [x] {y} 100%') OR (s.name = N'sales' AND t.name = N'daily'));
CREATE UNIQUE INDEX [by_code] ON [sales]."odd ""orders"" `of` [x] {y} 100%" ([code], [note]);
ALTER TABLE [sales]."odd ""orders"" `of` [x] {y} 100%" ADD CONSTRAINT [fk] FOREIGN KEY ([cobid], [code]) REFERENCES [sales].[daily] ([id], [code]);
ALTER TABLE [sales]."odd ""orders"" `of` [x] {y} 100%" ADD DEFAULT 'it''s' FOR [note];
IF EXISTS (SELECT 1 FROM sys.extended_properties AS p WHERE p.class = 1 AND p.name = N'MS_Description' AND p.major_id = OBJECT_ID(N'[sales]."odd ""orders"" `of` [x] {y} 100%"') AND p.minor_id = 0)
EXEC sys.sp_updateextendedproperty @name = N'MS_Description', @value = N'it''s ours', @level0type = N'SCHEMA', @level0name = N'sales', @level1type = N'TABLE', @level1name = N'odd "orders" `of` [x] {y} 100%'
ELSE EXEC sys.sp_addextendedproperty @name = N'MS_Description', @value = N'it''s ours', @level0type = N'SCHEMA', @level0name = N'sales', @level1type = N'TABLE', @level1name = N'odd "orders" `of` [x] {y} 100%';
IF EXISTS (SELECT 1 FROM sys.extended_properties AS p WHERE p.class = 1 AND p.name = N'MS_Description' AND p.major_id = OBJECT_ID(N'[sales]."odd ""orders"" `of` [x] {y} 100%"') AND p.minor_id = COLUMNPROPERTY(OBJECT_ID(N'[sales]."odd ""orders"" `of` [x] {y} 100%"'), N'note', 'ColumnId'))
EXEC sys.sp_updateextendedproperty @name = N'MS_Description', @value = N'it''s ours', @level0type = N'SCHEMA', @level0name = N'sales', @level1type = N'TABLE', @level1name = N'odd "orders" `of` [x] {y} 100%', @level2type = N'COLUMN', @level2name = N'note'
ELSE EXEC sys.sp_addextendedproperty @name = N'MS_Description', @value = N'it''s ours', @level0type = N'SCHEMA', @level0name = N'sales', @level1type = N'TABLE', @level1name = N'odd "orders" `of` [x] {y} 100%', @level2type = N'COLUMN', @level2name = N'note';
