SELECT COUNT_BIG(*) FROM [tidegate_uat].[odd_orders_of_x_y_100__c0c17e9c2e] WHERE row_version > CONVERT(binary(8), CAST(2001 AS bigint));
