SET client_encoding = 'UTF8'; SET standard_conforming_strings = on; SET datestyle = 'ISO, YMD';
SET intervalstyle = 'iso_8601'; SET timezone = 'UTC'; SET extra_float_digits = 1; SET bytea_output = 'hex';
SET lc_monetary = 'C'; SET xmloption = 'content'; SET default_transaction_isolation = 'read committed';
SET search_path = ''; SET lock_timeout = '5min'; SET idle_in_transaction_session_timeout = 0
; SET statement_timeout = 0;
