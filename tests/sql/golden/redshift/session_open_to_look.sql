SET datestyle TO 'ISO, YMD';
SET timezone TO 'UTC';
SET extra_float_digits TO 2;
SET enable_case_sensitive_identifier TO false;
SET statement_timeout TO 300000;
