"""The contracts: what a database, a lake, a change, a load and a check offer. Each can be added by a plug-in."""

from tidegate.interfaces.database import BatchSize, Capabilities, Database, ReadRequest, Session

__all__ = ["BatchSize", "Capabilities", "Database", "ReadRequest", "Session"]
