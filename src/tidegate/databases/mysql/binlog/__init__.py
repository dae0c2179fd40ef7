"""MySQL's and MariaDB's binary log, read over PyMySQL's connection: events, rows, exact values."""
