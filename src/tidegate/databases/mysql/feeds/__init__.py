"""The change feeds of MySQL and MariaDB."""
